//! A kernel that does not compile beside one that does.
