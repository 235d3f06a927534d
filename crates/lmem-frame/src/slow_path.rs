//! Which functions of the math library may need local memory.

/// Math functions whose slow path reduces large arguments in a local array.
pub fn has_slow_path(name: &str) -> bool {
    let name = name.trim_start_matches("cuda::").trim_start_matches("std::").trim_start_matches("::");
    matches!(
        name.strip_suffix('f').unwrap_or(name),
        "sin" | "cos" | "tan" | "sincos" | "j0" | "j1" | "jn" | "y0" | "y1" | "yn"
    )
}
