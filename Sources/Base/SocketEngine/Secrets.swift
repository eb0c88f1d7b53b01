package import HoldfastCore

/// The secrets that must never appear in a failure.
package struct Secrets {
  private var texts: [String] = []

  /// Collects the secret values of a request, both unencoded and encoded as on the wire.
  package init(headers: [(name: String, value: String)], query: [(name: String, value: String)]) {
    for (_, value) in headers + query {
      // In `Bearer abc`, the scheme alone is not a secret.
      texts +=
        [value, value.percentEncoded] + value.split(separator: " ").dropFirst().map(String.init)
    }
    // Removing shorter values would hide ordinary words, and no token is that short.
    texts.removeAll { $0.utf8.count < 6 }
  }

  /// Returns `text`, or `substitute` if `text` contains a secret.
  package func clean(_ text: String, or substitute: String = "(withheld)") -> String {
    texts.contains { text.contains($0) } ? substitute : text
  }

  package func clean(_ failure: LinkFailure) -> LinkFailure {
    failure.mapText { clean($0) }
  }
}
