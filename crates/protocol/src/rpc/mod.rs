//! JSON shapes of requests and answers, and the envelope that carries them.
