//! Names of functions in which threads meet, or that end a thread.

/// Name prefixes of functions in which threads meet, or that ask which threads are active.
const MEETING: [&str; 9] =
    ["__sync", "__shfl", "__any", "__all", "__ballot", "__activemask", "__match", "__reduce", "__bar"];
/// Functions that may end the thread or the kernel.
const ENDING: [&str; 6] = ["assert", "__trap", "__brkpt", "__assert_fail", "exit", "abort"];
/// Name prefixes of the toolkit's further functions, which return. So do all others whose name starts with `__`.
const RETURNING: [&str; 12] = [
    "atomic",
    "curand",
    "tex",
    "surf",
    "printf",
    "memcpy",
    "memset",
    "clock",
    "reinterpret_cast",
    "const_cast",
    "dim3",
    "swap",
];
/// Instructions that end a thread, jump, or meet other threads.
const INSTRUCTIONS: [&str; 9] = ["exit", "trap", "brkpt", "bra", "bar", "shfl", "vote", "match", "redux"];

/// Whether threads meet in a function, or it asks which threads are active.
pub fn is_meeting(name: &str) -> bool {
    MEETING.iter().any(|prefix| name.starts_with(prefix))
        || name.contains("sync")
        || matches!(name, "arrive" | "wait" | "shfl" | "ballot" | "any" | "all" | "reduce")
}

/// Whether a function may end the thread or the kernel.
pub fn is_ending(name: &str) -> bool {
    ENDING.contains(&name)
}

/// Whether a name is that of a function of the toolkit that returns, beside those of mathematics. The user may have a
/// function or a macro of that name.
pub fn is_returning(name: &str) -> bool {
    name.starts_with("__") || RETURNING.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the text of an assembly statement has an instruction that ends a thread, jumps, or meets other threads.
pub fn has_meeting_instruction(assembly: &str) -> bool {
    INSTRUCTIONS.iter().any(|it| assembly.contains(it))
}
