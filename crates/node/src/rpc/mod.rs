pub(crate) mod params;
