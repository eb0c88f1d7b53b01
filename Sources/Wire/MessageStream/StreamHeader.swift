/// The headers of a stream's upgrade that carry a position (`epoch:offset`). They are ours: a plain
/// server neither reads nor sends them.
package enum StreamHeader {
  /// Of the answer: the newest position when the server began to send.
  package static let head = "Holdfast-Head"
  /// Of the request: what lies after this position is wanted first. Of the answer: it comes, as
  /// frames before anything newer; without it the stream begins behind its head.
  package static let after = "Holdfast-After"
}
