/// The time for which a response may be kept, as its header fields state (RFC 9111 sections 4.2.1,
/// 5.2.2).
package enum Freshness {
  /// Returns the remaining time from `Cache-Control` and `Age`; `nil` if there is no `max-age`.
  ///
  /// A response that must not be kept, or whose time is not valid or has passed, has zero. A number
  /// that is too large counts as the largest one (section 1.2.2).
  package static func life(_ cacheControl: String?, age: String?, atMost most: Duration)
    -> Duration?
  {
    guard let cacheControl else { return nil }
    let parts = cacheControl.lowercased().split(separator: ",").map { part in
      String(part.filter { $0 != " " && $0 != "\t" && $0 != "\"" })
    }
    guard !parts.contains(where: { ["no-store", "no-cache"].contains($0) }) else { return .zero }
    guard let field = parts.first(where: { $0.hasPrefix("max-age=") }) else { return nil }
    let digits = field.dropFirst("max-age=".count)
    let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
    let seconds = isNumber ? Int64(digits) ?? .max : 0
    let spent = age.flatMap { Int64($0) } ?? 0
    guard seconds > 0, spent >= 0, spent < seconds else { return .zero }
    return min(
      most, .seconds(min(seconds, most.components.seconds)) - .seconds(min(spent, seconds)))
  }
}
