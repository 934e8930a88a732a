//! A file of the page, and the table of all files.

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Path below the path of the page, without a slash at the start.
    pub path: &'static str,
    /// Media type, for the header `Content-Type`.
    pub content_type: &'static str,
    /// Length of the file in bytes, without compression.
    pub length: usize,
    /// Tag of the content in double quotes, for the header `ETag`.
    pub etag: &'static str,
    /// Whether the content of this path never changes, because the path has a hash of the content.
    pub immutable: bool,
    /// The file, compressed with gzip.
    pub gzip: &'static [u8],
}

/// The files of the page, in ascending order of their paths. Empty without the feature `assets`.
#[cfg(feature = "assets")]
pub const ASSETS: &[Asset] = include!("../dist/manifest.rs");

/// The files of the page, in ascending order of their paths. Empty without the feature `assets`.
#[cfg(not(feature = "assets"))]
pub const ASSETS: &[Asset] = &[];

#[cfg(all(test, feature = "assets"))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn paths_are_sorted_and_need_no_escape() {
        assert!(ASSETS.is_sorted_by(|one, next| one.path < next.path));
        for asset in ASSETS {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
            assert!(asset.path.bytes().all(is_plain), "{}", asset.path);
            let parts: BTreeSet<_> = asset.path.split('/').collect();
            assert!(!parts.contains("") && !parts.contains(".") && !parts.contains(".."), "{}", asset.path);
        }
    }

    #[test]
    fn page_begins_with_index_html() {
        let index = ASSETS.iter().find(|asset| asset.path == "index.html").unwrap();
        assert_eq!((index.content_type, index.immutable), ("text/html; charset=utf-8", false));
    }

    #[test]
    fn tags_differ_and_have_quotes() {
        let tags: BTreeSet<_> = ASSETS.iter().map(|asset| asset.etag).collect();
        assert_eq!(tags.len(), ASSETS.len());
        for tag in tags {
            let digits = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap();
            assert!(digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{tag}");
        }
    }

    #[test]
    fn types_are_those_of_the_extensions() {
        for asset in ASSETS {
            let expected = match asset.path.rsplit_once('.').unwrap().1 {
                "html" => "text/html; charset=utf-8",
                "js" => "text/javascript; charset=utf-8",
                "css" => "text/css; charset=utf-8",
                "svg" => "image/svg+xml",
                "txt" => "text/plain; charset=utf-8",
                other => panic!("{}: a browser needs a media type for .{other}", asset.path),
            };
            assert_eq!(asset.content_type, expected, "{}", asset.path);
        }
    }

    /// A gzip archive ends in the length of its content modulo 2^32 (RFC 1952). The head of an archive has no time,
    /// because the time of a build would change the bytes.
    #[test]
    fn archives_have_the_length_of_the_table_and_no_time() {
        for asset in ASSETS {
            let (rest, length) = asset.gzip.split_last_chunk().unwrap();
            assert_eq!(u32::from_le_bytes(*length) as usize, asset.length, "{}", asset.path);
            assert_eq!(rest.get(..8), Some(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0][..]), "{}", asset.path);
        }
    }

    #[test]
    fn names_that_never_change_have_a_hash() {
        for asset in ASSETS.iter().filter(|asset| asset.immutable) {
            let (name, _) = asset.path.rsplit_once('.').unwrap();
            let (_, hash) = name.rsplit_once('-').unwrap();
            assert!(hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{}", asset.path);
        }
    }
}
