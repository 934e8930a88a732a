//! Line breaks, and the positions of comments.
//!
//! The printer converts a tree into a stream of operations: texts, possible or required line breaks, and groups. A
//! group is on one line if it fits. Operations contain source positions, so that each comment remains before the
//! token that follows it in the source.

use std::borrow::Cow;

/// An operation of the layout.
#[derive(Debug)]
pub(super) enum Op {
    /// Source position of the next token, as a byte offset.
    At(u32),
    /// End of the innermost open group.
    Close,
    /// Indent the following lines by one step less.
    Dedent,
    /// A required line break.
    Hard,
    /// Indent the following lines by one step more.
    Indent,
    /// A line break if the group does not fit on one line, and otherwise nothing.
    Join,
    /// A line break if the group does not fit on one line, and otherwise a space.
    Line,
    /// Beginning of a group. Either all its possible breaks are line breaks, or none.
    Open,
    /// A line break and an empty line.
    Skip,
    /// Like [`Op::At`], for the beginning of a statement or an entry. The layout keeps an empty line before this
    /// token, or before the keyword in front of it.
    StartAt(u32),
    /// A text without line breaks. It is never empty.
    Text(Cow<'static, str>),
}

/// A comment, or several comments on one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comment {
    /// Byte offset of the comment in the source.
    pub(super) start: u32,
    /// Text of the comment, with its opening and closing.
    pub(super) text: String,
    /// Position of the comment among the other text of its line.
    pub(super) position: Position,
    /// Whether an empty line comes before the comment.
    pub(super) behind_empty_line: bool,
    /// Whether an empty line comes after the comment.
    pub(super) before_empty_line: bool,
}

/// The position of a comment among the other text of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Other text follows the comment.
    Inline,
    /// The line has no other text.
    OwnLine,
    /// Other text comes only before the comment.
    Trailing,
}

/// Maximum width of a line, in columns.
const WIDTH: usize = 80;

/// Width of one step of indentation, in columns.
const STEP: usize = 2;

/// Largest indentation, in columns. It bounds the length of the output for deep trees.
const MAX_INDENT: usize = 60;

/// Returns the text for a stream of operations, with the comments of its source.
pub(super) fn lay_out(ops: &[Op], comments: &[Comment], source: &[u8]) -> String {
    let mut layout = Layout {
        ops,
        comments,
        source,
        out: String::new(),
        column: 0,
        steps: 0,
        breaks: 0,
        opened: false,
        groups: Vec::new(),
    };
    for (index, op) in ops.iter().enumerate() {
        layout.apply(index, op);
    }
    layout.put_comments(u32::MAX);
    layout.finish()
}

struct Layout<'a> {
    ops: &'a [Op],
    /// The comments that remain to be printed.
    comments: &'a [Comment],
    source: &'a [u8],
    out: String,
    column: usize,
    /// Indentation of the next line, in steps.
    steps: usize,
    /// Number of pending line breaks before the next text.
    breaks: usize,
    /// Whether the layout is at the beginning of an indented block. No empty line comes before the first comment of a
    /// block.
    opened: bool,
    /// For each open group, whether it is on one line.
    groups: Vec<bool>,
}

impl Layout<'_> {
    fn apply(&mut self, index: usize, op: &Op) {
        let flat = self.groups.last().copied().unwrap_or(false);
        match op {
            Op::At(place) => self.put_comments(*place),
            Op::Close => {
                self.groups.pop();
            }
            Op::Dedent => self.steps = self.steps.saturating_sub(1),
            Op::Hard => self.break_line(1),
            Op::Indent => {
                self.steps += 1;
                self.opened = true;
            }
            Op::Join if flat => {}
            Op::Line if flat => self.put(" "),
            Op::Join | Op::Line => self.break_line(1),
            Op::Open => {
                let fits = flat || self.fits(index + 1);
                self.groups.push(fits);
            }
            Op::Skip => self.break_line(2),
            Op::StartAt(place) => {
                self.put_comments(*place);
                if self.breaks > 0 && starts_behind_empty_line(self.source, *place) {
                    self.break_line(2);
                }
            }
            Op::Text(text) => self.put(text),
        }
    }

    /// Requests at least `count` line breaks before the next text. Has no effect before the first text.
    fn break_line(&mut self, count: usize) {
        if !self.out.is_empty() {
            self.breaks = self.breaks.max(count);
        }
    }

    fn put(&mut self, text: &str) {
        let mut text = text;
        self.opened = false;
        if self.breaks > 0 {
            self.end_line();
            text = text.trim_start_matches(' ');
        }
        self.out.push_str(text);
        self.column = match text.rfind('\n') {
            Some(last) => text.len() - last - 1,
            None => self.column + text.len(),
        };
    }

    /// Prints the pending line breaks, and the indentation of the next line.
    fn end_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.extend(std::iter::repeat_n('\n', self.breaks));
        self.breaks = 0;
        self.column = self.indentation();
        self.out.extend(std::iter::repeat_n(' ', self.column));
    }

    fn indentation(&self) -> usize {
        (self.steps * STEP).min(MAX_INDENT)
    }

    /// Prints the comments before a source position.
    fn put_comments(&mut self, place: u32) {
        while let Some((comment, rest)) = self.comments.split_first()
            && comment.start < place
        {
            self.comments = rest;
            match comment.position {
                Position::Inline => {
                    if comment.behind_empty_line && self.breaks > 0 && !self.opened {
                        self.break_line(2);
                    }
                    self.put_spaced(&comment.text);
                    self.put(" ");
                }
                Position::OwnLine => {
                    self.break_line(if comment.behind_empty_line && !self.opened { 2 } else { 1 });
                    self.put(&comment.text);
                    self.break_line(if comment.before_empty_line { 2 } else { 1 });
                }
                Position::Trailing => {
                    let breaks = std::mem::take(&mut self.breaks);
                    self.put_spaced(&comment.text);
                    self.breaks = breaks.max(1);
                }
            }
        }
    }

    /// Prints a text. A space comes before it, unless the text begins a line or follows an opening bracket.
    fn put_spaced(&mut self, text: &str) {
        if self.breaks == 0 && !self.out.is_empty() && !self.out.ends_with([' ', '(', '[', '\n']) {
            self.put(" ");
        }
        self.put(text);
    }

    /// Returns whether the operations from `from` up to the end of the group, and from there to the next break, fit
    /// on the line. They do not fit if one of their comments needs a line break.
    fn fits(&self, from: usize) -> bool {
        let start = if self.breaks > 0 { self.indentation() } else { self.column };
        let mut room = WIDTH.saturating_sub(start);
        let mut comments = self.comments;
        let mut depth = 1_usize;
        let mut begun = false;
        for op in self.ops.get(from..).unwrap_or_default() {
            let width = match op {
                Op::At(place) | Op::StartAt(place) => {
                    let (wide, rest) = inline_width(comments, *place);
                    comments = rest;
                    match wide {
                        _ if !begun || depth == 0 => 0,
                        Some(width) => width,
                        None => return false,
                    }
                }
                Op::Close => {
                    depth = depth.saturating_sub(1);
                    0
                }
                Op::Dedent | Op::Indent => 0,
                Op::Hard | Op::Skip => return depth == 0,
                Op::Join | Op::Line if depth == 0 => return true,
                Op::Join => 0,
                Op::Line => 1,
                Op::Open => {
                    depth += usize::from(depth > 0);
                    0
                }
                Op::Text(text) => {
                    begun = true;
                    text.len()
                }
            };
            let Some(left) = room.checked_sub(width) else { return false };
            room = left;
        }
        true
    }

    fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

/// Returns the width of the comments before a source position, and the comments after this position. The width is
/// `None` if a comment needs a line break.
fn inline_width(comments: &[Comment], place: u32) -> (Option<usize>, &[Comment]) {
    let count = comments.iter().take_while(|comment| comment.start < place).count();
    let (before, rest) = comments.split_at_checked(count).unwrap_or((comments, &[]));
    let width = |comment: &Comment| {
        let on_one_line = comment.position == Position::Inline && !comment.text.contains('\n');
        on_one_line.then(|| comment.text.len() + 1)
    };
    (before.iter().map(width).sum(), rest)
}

/// Returns whether an empty line comes before a source position, with only blanks in between.
pub(super) fn is_behind_empty_line(source: &[u8], place: u32) -> bool {
    let before = source.get(..place as usize).unwrap_or_default();
    line_breaks(before.iter().rev().copied()) > 1
}

/// Returns whether an empty line comes before a source position, or before the keyword in front of this position.
fn starts_behind_empty_line(source: &[u8], place: u32) -> bool {
    let before = source.get(..place as usize).unwrap_or_default();
    let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let word = before.iter().rev().skip(blanks).take_while(|byte| byte.is_ascii_lowercase()).count();
    let start = if word == 0 { place } else { place.saturating_sub(u32::try_from(blanks + word).unwrap_or(0)) };
    is_behind_empty_line(source, start)
}

/// Returns the number of line breaks among the leading blanks. CR LF counts as one. LF CR counts as one too, because
/// some callers pass the bytes in reverse.
pub(super) fn line_breaks(bytes: impl Iterator<Item = u8>) -> usize {
    let blanks = bytes.take_while(u8::is_ascii_whitespace);
    let (feeds, returns) = blanks.fold((0_usize, 0_usize), |(feeds, returns), byte| match byte {
        b'\n' => (feeds + 1, returns),
        b'\r' => (feeds, returns + 1),
        _ => (feeds, returns),
    });
    feeds.max(returns)
}
