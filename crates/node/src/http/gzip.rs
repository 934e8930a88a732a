//! Compressed responses, for clients that accept them.
//!
//! The node sends small responses without compression. It compresses larger responses in chunks on blocking threads, as
//! fast as the client reads. The number of simultaneous compressions is bounded, and the node sends further responses
//! without compression. The thread of a connection itself compresses a response with a known length of a few kilobytes.

use std::{io::Write, mem};

use flate2::{Compression, write::GzEncoder};
use hyper::header::{ACCEPT_ENCODING, HeaderMap};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    response_body::{BodyChunks, Chunks, Truncated},
    text::Text,
};

/// Smallest response that is compressed, in bytes. A smaller response needs one or two packets with and without
/// compression.
pub(super) const SMALLEST: usize = 2 << 10;

/// Maximum number of simultaneous compressions. The memory budget does not count their encoders, and compression takes
/// processor time that block production needs.
pub(super) const AT_ONCE: usize = 4;

/// Maximum bytes of plain text that the encoder gets at once. The limit bounds the time between two chunks.
const CHUNK: usize = 256 << 10;

/// Minimum bytes of each compressed chunk except the last. A shorter chunk is not worth a write to the socket.
const LEAST: usize = 16 << 10;

/// Returns whether a client prefers gzip to a plain response (RFC 9110, section 12.5.3): the header lists gzip with a
/// weight above 0, and lists `identity` with no higher weight. `*` does not select gzip.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let (mut gzip, mut plain) = (0.0, 0.0);
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    for offer in values.flat_map(|value| value.split(',')) {
        let mut parts = offer.split(';').map(str::trim);
        match parts.next() {
            Some(coding) if coding.eq_ignore_ascii_case("gzip") => gzip = weight(parts),
            Some(coding) if coding.eq_ignore_ascii_case("identity") => plain = weight(parts),
            Some(_) | None => {}
        }
    }
    gzip > 0.0 && gzip >= plain
}

/// Returns the weight from the parameters of a coding: 1 without a weight, and 0 for an invalid weight, because the
/// server can then send a plain response.
fn weight<'a>(parameters: impl Iterator<Item = &'a str>) -> f32 {
    let values = parameters.filter_map(|parameter| parameter.split_once('='));
    let mut weights = values.filter(|(name, _)| name.trim_end().eq_ignore_ascii_case("q"));
    let Some((_, weight)) = weights.next() else { return 1.0 };
    weight.trim_start().parse().ok().filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0)
}

/// Compresses a text of some kilobytes at once.
pub(super) fn whole(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("vectors accept every write")
}

/// A response in compressed chunks: first the beginning of the text, then the chunks of its source.
pub(super) struct Gzip {
    /// The text that the encoder has not read: the rest of the beginning, or of the latest chunk.
    there: Text,
    rest: Option<BodyChunks>,
    encoder: GzEncoder<Vec<u8>>,
    /// The permit of this compression, which ends with the response.
    _turn: OwnedSemaphorePermit,
}

impl Gzip {
    pub(super) fn new(there: Text, rest: Option<BodyChunks>, turn: OwnedSemaphorePermit) -> Self {
        Self { there, rest, encoder: GzEncoder::new(Vec::new(), Compression::fast()), _turn: turn }
    }

    /// Passes the next part of the text to the encoder. Returns whether more text follows.
    fn compress_some(&mut self) -> Result<bool, Truncated> {
        if self.there.is_empty() {
            let Some(rest) = &mut self.rest else { return Ok(false) };
            if !rest.next_chunk(self.there.end())? {
                self.rest = None;
            }
        }
        let chunk = self.there.take(CHUNK).unwrap_or_default();
        self.encoder.write_all(&chunk).map_err(|_| Truncated)?;
        Ok(!self.there.is_empty() || self.rest.is_some())
    }
}

impl Chunks for Gzip {
    type Error = Truncated;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        // The encoder may still hold its output, and a chunk of a few bytes is not worth a write.
        while out.len() < LEAST {
            if !self.compress_some()? {
                self.encoder.try_finish().map_err(|_| Truncated)?;
                out.append(self.encoder.get_mut());
                return Ok(false);
            }
            out.append(&mut mem::take(self.encoder.get_mut()));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read, sync::Arc};

    use flate2::read::GzDecoder;
    use hyper::header::HeaderValue;
    use tokio::sync::Semaphore;

    use super::*;

    fn turn() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    #[test]
    fn gzip_is_for_clients_that_accept_it() {
        let check = |offer: &'static str, expected| {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(offer))]);
            assert_eq!(is_accepted(&headers), expected, "{offer:?}");
        };
        for offer in ["gzip", "GZIP", "deflate, gzip;q=0.5, br", "br,gzip", "gzip; q=1"] {
            check(offer, true);
        }
        for offer in ["", "identity", "br", "gzip;q=0", "gzip; Q=0.0", "xgzip", "*"] {
            check(offer, false);
        }
        // Gzip is accepted with at least the weight of the plain form, and rejected with a lower weight or 0.
        for offer in ["gzip;q=0.001", "gzip, identity", "identity;q=0.5, gzip;Q=0.6", "identity;q=0, gzip;q=0.1"] {
            check(offer, true);
        }
        for offer in ["gzip;q=0.", "gzip;q=0.000", "identity, gzip;q=0.5", "gzip;q=0.1, identity;q=0.2"] {
            check(offer, false);
        }
        for invalid in ["gzip;q=", "gzip;q=x", "gzip;q=2", "gzip;q=-1", "gzip;q=NaN"] {
            check(invalid, false);
        }
        assert!(!is_accepted(&HeaderMap::new()));
    }

    /// Chunks with these lengths in bytes, in reverse order.
    struct Pieces(Vec<usize>);

    impl Chunks for Pieces {
        type Error = Truncated;

        fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
            let length = self.0.pop().ok_or(Truncated)?;
            out.resize(length, b'x');
            Ok(!self.0.is_empty())
        }
    }

    #[test]
    fn pieces_come_back_as_they_were() {
        for (there, rest) in
            [(0, vec![]), (5, vec![]), (1_000_000, vec![]), (5, vec![7, 0, 900_000, 0, 3]), (0, vec![0])]
        {
            let expected = there + rest.iter().sum::<usize>();
            let rest = (!rest.is_empty()).then(|| Box::new(Pieces(rest)) as BodyChunks);
            let mut gzip = Gzip::new(vec![b'x'; there].into(), rest, turn());
            let (mut all, mut more) = (Vec::new(), true);
            while more {
                let mut chunk = Vec::new();
                more = gzip.next_chunk(&mut chunk).unwrap();
                assert!(!chunk.is_empty());
                all.append(&mut chunk);
            }
            let mut text = Vec::new();
            GzDecoder::new(&all[..]).read_to_end(&mut text).unwrap();
            assert_eq!(text, vec![b'x'; expected]);
        }
    }

    #[test]
    fn a_few_kilobytes_come_back_as_they_were() {
        for length in [0, 1, 10_000] {
            let mut text = Vec::new();
            GzDecoder::new(&whole(&vec![b'x'; length])[..]).read_to_end(&mut text).unwrap();
            assert_eq!(text, vec![b'x'; length]);
        }
    }

    #[test]
    fn what_breaks_is_not_ended() {
        let mut gzip = Gzip::new(vec![b'x'; 10].into(), Some(Box::new(Pieces(vec![]))), turn());
        let outcome = loop {
            match gzip.next_chunk(&mut Vec::new()) {
                Ok(true) => {}
                other => break other,
            }
        };
        assert_eq!(outcome, Err(Truncated));
    }
}
