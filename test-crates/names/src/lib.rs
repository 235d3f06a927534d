//! Kernels in which the variable, its statement or the cause is easily taken for another: views, closures, shared bytes,
//! `#line`, append lists, countdowns, loops of libraries.
