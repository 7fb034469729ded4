//! Browser Tools: names and schemas.
