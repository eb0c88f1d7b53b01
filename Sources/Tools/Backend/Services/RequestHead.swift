import LinkProtocols

extension HTTPRequestHead {
  /// The percent-decoded path; empty, which is no route, if a segment hides a slash.
  var wholePath: String {
    guard !segments.contains(where: { $0.contains("/") }) else { return "" }
    return "/" + segments.joined(separator: "/")
  }

  /// Whether the body is in no content coding (RFC 9110 section 8.4).
  var isPlain: Bool {
    all("content-encoding").allSatisfy { ["", "identity"].contains($0.lowercased()) }
  }

  /// The token of `Authorization: Bearer`, if the request carries one (RFC 6750 section 2.1).
  var bearer: String? {
    guard let field = first("authorization") else { return nil }
    let words = field.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
    return String(words[1])
  }
}
