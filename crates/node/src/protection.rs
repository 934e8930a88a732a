//! Protection of the memory and the files of this process against other processes of the host.

use std::io;

use rustix::{
    fs::Mode,
    process::{Resource, Rlimit, setrlimit, umask},
};

/// Sets the umask, so that only the owner can access files and directories that this process creates later. These
/// include the files of the storage engine.
pub(crate) fn protect_files() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Disables core dumps, because the memory has secret keys. On Linux, other processes of the same user then
/// also cannot attach debuggers.
///
/// # Errors
///
/// The error of the operating system.
pub(crate) fn protect_memory() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // The limit of 0 has no effect on a system that pipes core dumps to a program.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}
