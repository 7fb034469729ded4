//! Presentation as JavaScript sees it: validation, the Host's machine and the ends of attachments. Values cross as JSON
//! text, secrets beside it, errors with `code` and `path`.

mod crossing;
mod effects;
mod link;
mod machine;
mod validate;
