//! AG-UI wire types, observed on the official clients 0.0.59 and 1.0.0.
