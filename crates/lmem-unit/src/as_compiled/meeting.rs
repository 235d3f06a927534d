//! Names of functions in which threads meet, or that end a thread.

/// Name prefixes of functions in which threads meet, or that ask which threads are active.
const MEETING: [&str; 9] =
    ["__sync", "__shfl", "__any", "__all", "__ballot", "__activemask", "__match", "__reduce", "__bar"];
/// Functions that may end the thread or the kernel, without the underscores before their names; all that begin with `assert`
/// do too.
const ENDING: [&str; 10] = [
    "trap",
    "brkpt",
    "exit",
    "Exit",
    "quick_exit",
    "abort",
    "terminate",
    "unreachable",
    "builtin_trap",
    "builtin_unreachable",
];
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
const INSTRUCTIONS: [&str; 13] =
    ["exit", "trap", "brkpt", "bra", "bar", "shfl", "vote", "match", "redux", "ret", "activemask", "elect", "call"];

/// Whether threads meet in a function, or it asks which threads are active.
pub fn is_meeting(name: &str) -> bool {
    MEETING.iter().any(|prefix| name.starts_with(prefix))
        || name.contains("sync")
        || matches!(name, "arrive" | "wait" | "shfl" | "ballot" | "any" | "all" | "reduce")
}

/// Whether a function may end the thread or the kernel.
pub fn is_ending(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    ENDING.contains(&name) || name.starts_with("assert")
}

/// Whether a name is that of a function of the toolkit that returns, beside those of mathematics. The user may have a
/// function or a macro of that name.
pub fn is_returning(name: &str) -> bool {
    name.starts_with("__") || RETURNING.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether an assembly statement has an instruction that ends a thread, jumps, or meets other threads. Its text may be in
/// several literals. One with escapes but for ends of lines may hold anything.
pub fn has_meeting_instruction(statement: &str) -> bool {
    let mut text = String::new();
    // Every second piece stands between quotes; an escaped quote only moves the pieces, and is an escape.
    for piece in statement.split('"').skip(1).step_by(2) {
        text.push_str(piece);
    }
    let mut escapes = text.match_indices('\\').map(|(at, _)| text[at + 1..].chars().next());
    let is_known = |escape: Option<char>| matches!(escape, Some('n' | 't' | 'r'));
    !escapes.all(is_known) || INSTRUCTIONS.iter().any(|it| text.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_in_pieces_are_seen() {
        for statement in [
            r#"asm volatile("exit;")"#,
            r#"asm("ex" "it;")"#,
            r#"asm("{ .reg .pred p; @p ex"
                "it; }")"#,
            r#"asm("\x65xit;")"#,
            r#"asm("@p ret;")"#,
            r#"asm(R"(trap;)")"#,
        ] {
            assert!(has_meeting_instruction(statement), "{statement}");
        }
        for statement in
            [r#"asm("mov.b32 %0, %1;\n\t" : "=r"(x) : "r"(y))"#, r#"asm("add.u32 %0, " "%1, %2;" : "=r"(x))"#]
        {
            assert!(!has_meeting_instruction(statement), "{statement}");
        }
    }

    #[test]
    fn names_that_end_a_thread() {
        for name in [
            "assert",
            "__assertfail",
            "__assert_fail",
            "__trap",
            "__builtin_trap",
            "exit",
            "_Exit",
            "__builtin_unreachable",
        ] {
            assert!(is_ending(name), "{name}");
        }
        assert!(!is_ending("exit_code") && !is_ending("static_assert") && !is_ending("bootstrap"));
    }
}
