//! The `silica` binary. The library has all of the program, so that the compiler makes its code once.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The allocator is mimalloc, because threads free many small allocations of other threads, such as parts of blocks and
/// responses. The allocator of the C library needs more time for such frees.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    silica_node::cli::run()
}
