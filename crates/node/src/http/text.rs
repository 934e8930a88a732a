//! The text of a response, in segments.

use std::{collections::VecDeque, mem, sync::Arc};

use hyper::body::Bytes;

/// Minimum bytes of a text that becomes a separate segment. A shorter text is copied into the last segment.
const SEGMENT: usize = 16 << 10;

/// Capacity in bytes of a segment for many short texts. A vector without a limit would be copied each time that it
/// grows.
const USUAL: usize = 64 << 10;

/// Minimum length of the last segment, in bytes, at which a new segment begins.
const FULL: usize = USUAL - (8 << 10);

/// The text of a response: its own segments, and documents that several responses share.
#[derive(Debug, Default)]
pub(crate) struct Text {
    complete: VecDeque<Bytes>,
    /// The segment at the end, to which short texts are added.
    last: Vec<u8>,
    /// Bytes of text in the complete segments.
    bytes: usize,
    /// Bytes of memory of the complete segments, without shared documents.
    memory: usize,
}

/// A position in a text, for [`Text::rewind`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    complete: usize,
    last: usize,
    bytes: usize,
    memory: usize,
}

impl Text {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Vec::with_capacity(bytes).into()
    }

    /// Returns the last segment, to which callers append text.
    pub(crate) const fn end(&mut self) -> &mut Vec<u8> {
        &mut self.last
    }

    /// Appends a text that only this response has.
    pub(crate) fn append(&mut self, text: Vec<u8>) {
        if text.len() < SEGMENT {
            self.last.extend_from_slice(&text);
            return;
        }
        self.complete();
        self.memory = self.memory.saturating_add(text.capacity());
        self.push(text.into());
    }

    /// Appends a document that several responses share. The text refers to a long document, and copies a short
    /// document.
    pub(crate) fn share(&mut self, document: &Bytes) {
        if document.len() < SEGMENT {
            self.last.extend_from_slice(document);
            return;
        }
        self.complete();
        self.push(document.clone());
    }

    /// Begins a new segment if the last segment has at least [`FULL`] bytes.
    pub(crate) fn divide(&mut self) {
        if self.last.len() >= FULL {
            self.complete();
            self.last = Vec::with_capacity(USUAL);
        }
    }

    fn complete(&mut self) {
        if self.last.is_empty() {
            self.last = Vec::new();
        } else {
            self.memory = self.memory.saturating_add(self.last.capacity());
            let last = mem::take(&mut self.last).into();
            self.push(last);
        }
    }

    fn push(&mut self, segment: Bytes) {
        self.bytes = self.bytes.saturating_add(segment.len());
        self.complete.push_back(segment);
    }

    /// Returns the length of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.saturating_add(self.last.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of memory of the text, without shared documents.
    pub(crate) fn memory(&self) -> usize {
        self.memory.saturating_add(self.last.capacity())
    }

    /// Returns the position at the end of the text.
    pub(crate) fn mark(&self) -> Mark {
        let Self { ref complete, ref last, bytes, memory } = *self;
        Mark { complete: complete.len(), last: last.len(), bytes, memory }
    }

    /// Removes the text after a mark.
    pub(crate) fn rewind(&mut self, to: Mark) {
        // The segment of the mark may have become a complete segment after the mark.
        match self.complete.drain(to.complete.min(self.complete.len())..).next() {
            None => {
                self.last.truncate(to.last);
                self.last.shrink_to(USUAL);
            }
            Some(then_last) => self.last = then_last.get(..to.last).unwrap_or_default().to_vec(),
        }
        (self.bytes, self.memory) = (to.bytes, to.memory);
    }

    /// Removes and returns the first chunk of the text, of at most `most` bytes, or `None` if the text is empty.
    pub(super) fn take(&mut self, most: usize) -> Option<Bytes> {
        self.complete();
        let first = self.complete.front_mut()?;
        let chunk = if first.len() <= most { self.complete.pop_front()? } else { first.split_to(most) };
        self.bytes = self.bytes.saturating_sub(chunk.len());
        Some(chunk)
    }

    /// Returns the same text, whose segments share `owner`. The drop of the last segment drops `owner`.
    pub(super) fn owned_by<T: Send + Sync + 'static>(mut self, owner: T) -> Self {
        self.complete();
        let owner = Arc::new(owner);
        for segment in &mut self.complete {
            *segment = Bytes::from_owner(Owned { bytes: mem::take(segment), _owner: Arc::clone(&owner) });
        }
        self
    }

    /// Returns the whole text. Copies the text, unless it has no complete segment.
    pub(crate) fn into_bytes(mut self) -> Bytes {
        if self.complete.is_empty() {
            return self.last.into();
        }
        self.complete();
        let mut whole = Vec::with_capacity(self.bytes);
        self.complete.iter().for_each(|segment| whole.extend_from_slice(segment));
        whole.into()
    }
}

impl From<Vec<u8>> for Text {
    fn from(last: Vec<u8>) -> Self {
        Self { last, ..Self::default() }
    }
}

/// A segment with the owner that it keeps alive.
struct Owned<T> {
    bytes: Bytes,
    _owner: Arc<T>,
}

impl<T> AsRef<[u8]> for Owned<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_whole_however_it_was_put_together() {
        let document = Bytes::from(vec![b'd'; 3 * SEGMENT]);
        let mut expected = Vec::new();
        let build = || {
            let mut text = Text::with_capacity(10);
            for round in 0..100_u8 {
                text.end().push(round);
                text.share(&document);
                text.append(vec![b'a'; usize::from(round) * 400]);
                text.end().extend([round; 3000]);
                text.divide();
            }
            text
        };
        for round in 0..100_u8 {
            expected.push(round);
            expected.extend_from_slice(&document);
            expected.extend(vec![b'a'; usize::from(round) * 400]);
            expected.extend([round; 3000]);
        }
        assert_eq!(build().len(), expected.len());
        assert!(build().into_bytes() == expected);
        let (mut text, mut chunks) = (build().owned_by(()), Vec::new());
        while let Some(chunk) = text.take(10_000) {
            assert!(!chunk.is_empty() && chunk.len() <= 10_000);
            chunks.extend_from_slice(&chunk);
            assert_eq!(text.len() + chunks.len(), expected.len());
        }
        assert!(chunks == expected && text.is_empty());
    }

    #[test]
    fn shared_documents_take_no_memory() {
        let document = Bytes::from(vec![b'd'; 100_000]);
        let mut text = Text::default();
        for _ in 0..1_000 {
            text.end().extend_from_slice(b"{\"id\":1}");
            text.share(&document);
        }
        assert!(text.len() > 100_000_000 && text.memory() < 100_000, "{}", text.memory());
        text.append(vec![b'a'; 1_000_000]);
        assert!(text.memory() >= 1_000_000);
    }

    #[test]
    fn rewound_text_is_as_it_was_at_the_mark() {
        for ([before, behind], completes) in [[10, 10], [FULL, 10], [10, FULL], [0, 3 * FULL], [FULL, FULL]]
            .into_iter()
            .flat_map(|lengths| [(lengths, true), (lengths, false)])
        {
            let mut text = Text::from(b"begin".to_vec());
            text.append(vec![b'a'; SEGMENT]);
            text.end().extend(vec![b'b'; before]);
            let (mark, memory) = (text.mark(), text.memory());
            text.end().extend(vec![b'c'; behind]);
            if completes {
                text.divide();
                text.append(vec![b'd'; SEGMENT]);
                text.end().push(b'e');
            }
            text.rewind(mark);
            // An incomplete segment may keep the capacity of a usual segment.
            let most = if completes { memory } else { memory + USUAL };
            assert!(text.memory() <= most, "{before} {behind} {completes}: {} {memory}", text.memory());
            text.end().push(b'f');
            let expected = [b"begin", &vec![b'a'; SEGMENT][..], &vec![b'b'; before], b"f"].concat();
            assert!(text.len() == expected.len() && text.into_bytes() == expected);
        }
    }

    #[test]
    fn owner_goes_with_the_last_part() {
        let owner = Arc::new(());
        let mut text = Text::from(vec![b'x'; 100]).owned_by(Arc::clone(&owner));
        let first = text.take(60);
        let second = text.take(60);
        assert!(text.take(60).is_none());
        drop((text, first));
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(second);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
