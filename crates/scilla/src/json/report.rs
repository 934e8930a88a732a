//! Reports as JSON: errors, warnings and source positions.

use super::document::{Builder, Document};
use crate::{
    report::{Entry, Failure, Warning},
    source::Location,
};

/// The report about a rejected program or a failed run.
#[derive(Clone, Copy, Debug)]
pub struct FailureReport<'a> {
    /// The remaining gas, or `None` if the reference does not report it.
    pub gas_remaining: Option<u64>,
    /// Errors of the program or run.
    pub failure: &'a Failure,
    /// Warnings, the newest first.
    pub warnings: &'a [Warning],
}

impl FailureReport<'_> {
    /// Returns the report as JSON.
    pub fn to_json(&self) -> Document {
        let mut builder = Builder::new();
        builder.begin_object();
        if let Some(gas) = self.gas_remaining {
            builder.member("gas_remaining", gas);
        }
        builder.key("errors").begin_array();
        for entry in self.failure.entries() {
            error(&mut builder, entry);
        }
        builder.end();
        warnings(&mut builder, self.warnings);
        builder.end();
        builder.finish()
    }
}

fn error(builder: &mut Builder, entry: &Entry) {
    builder.begin_object().member("error_message", &entry.message);
    place(builder, "start_location", &entry.start);
    place(builder, "end_location", &entry.end);
    builder.end();
}

/// Adds the member with the warnings.
pub(super) fn warnings(builder: &mut Builder, warnings: &[Warning]) {
    builder.key("warnings").begin_array();
    for warning in warnings {
        builder.begin_object().member("warning_message", &warning.message);
        place(builder, "start_location", &warning.start);
        place(builder, "end_location", &warning.end);
        builder.key("warning_id").integer(warning.id).end();
    }
    builder.end();
}

/// Adds a member with a source position.
pub(super) fn place(builder: &mut Builder, name: &str, location: &Location) {
    builder.key(name).begin_object().member("file", &location.file);
    builder.key("line").integer(location.line).key("column").integer(location.column).end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_members_of_the_reference() {
        let location = Location { file: "a.scilla".into(), line: 3, column: 5 };
        let failure = Failure::of(Entry::at(location.clone(), "wrong")).followed_by(Entry::nowhere("more"));
        let warning = Warning { message: "odd".into(), start: location, end: Location::default(), id: 2 };
        let report = FailureReport { gas_remaining: Some(7), failure: &failure, warnings: &[warning] };
        let nowhere = r#"{"file":"","line":0,"column":0}"#;
        let here = r#"{"file":"a.scilla","line":3,"column":5}"#;
        let errors = format!(
            r#"[{{"error_message":"wrong","start_location":{here},"end_location":{nowhere}}},{{"error_message":"more","start_location":{nowhere},"end_location":{nowhere}}}]"#
        );
        let warnings =
            format!(r#"[{{"warning_message":"odd","start_location":{here},"end_location":{nowhere},"warning_id":2}}]"#);
        assert_eq!(
            report.to_json().root().compact().to_string(),
            format!(r#"{{"gas_remaining":"7","errors":{errors},"warnings":{warnings}}}"#)
        );
        let silent = FailureReport { gas_remaining: None, warnings: &[], ..report };
        assert_eq!(silent.to_json().root().compact().to_string(), format!(r#"{{"errors":{errors},"warnings":[]}}"#));
    }
}
