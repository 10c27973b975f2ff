//! Choices made from facts by pure rules, each with its reason: the size of a configuration, the scale, the clients.
