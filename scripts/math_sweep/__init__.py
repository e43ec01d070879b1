"""What scripts/math_errors measures.

engines: runs modules; dense: f32, where f64 says what is right; wide: the other types, where mpmath does; page: the tables of docs/numerics.md."""
