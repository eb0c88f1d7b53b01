/// The parts of an HTTP response's head that show which server sent it and where it redirects.
public struct AnswerHead: Sendable, Hashable {
  /// The status code (RFC 9110 section 15).
  public var status: Int
  /// The value of `Content-Type`.
  public var contentType: String?
  /// The value of `Location`.
  public var location: String?

  public init(status: Int, contentType: String?, location: String?) {
    (self.status, self.contentType, self.location) = (status, contentType, location)
  }

  /// Returns whether a network's login page answered in place of the server at `url`.
  ///
  /// The signs are status 511 (RFC 6585 section 6), a redirect to another host, and an HTML page.
  /// The result is always false over TLS, since only the server can answer there. It is also always
  /// false for a loopback host, which needs no network.
  public func isLoginPage(from url: String) -> Bool {
    guard !Self.isSecure(url), let host = Self.host(of: url),
      !NetworkAddress.isLoopback(host: host)
    else { return false }
    // A server may also redirect to itself, for example from http to https.
    if isRedirect { return location.flatMap(Self.host).map { $0 != host } ?? false }
    return status == 511 || isPage
  }

  /// Whether the response is meant for a browser: a redirect or an HTML page.
  public var isForPeople: Bool { isRedirect || isPage }

  /// A description of the redirect's target or of the page; `nil` for any other response.
  ///
  /// The target is given without its user, query and fragment, which may contain secrets.
  public var summary: String? {
    if isPage { return "a web page" }
    guard isRedirect, let location, !location.isEmpty else { return nil }
    return "points to \(Self.withoutSecrets(location))"
  }

  private var isRedirect: Bool { (300...399).contains(status) && status != 304 }

  private var isPage: Bool {
    (200...299).contains(status) && contentType?.lowercased().hasPrefix("text/html") ?? false
  }

  private static func isSecure(_ url: String) -> Bool {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    return scheme == "https" || scheme == "wss"
  }

  /// Returns the host of an absolute URL in lower case, without brackets; `nil` for a relative URL.
  private static func host(of url: String) -> String? {
    let url = url.lowercased()
    guard let authority = authority(in: url) else { return nil }
    let name = url[authority].split(separator: "@").last ?? ""
    if name.first == "[" { return String(name.dropFirst().prefix { $0 != "]" }) }
    return String(name.prefix { $0 != ":" })
  }

  /// Returns the range of user, host and port in an absolute URL; `nil` for a relative URL.
  private static func authority(in url: String) -> Range<String.Index>? {
    guard let slashes = url[...].range(of: "//") else { return nil }
    // Only a scheme, or nothing, may precede the slashes, since a relative URL can contain `//` in
    // its query.
    let scheme = url[..<slashes.lower]
    guard scheme.last ?? ":" == ":", !scheme.contains(where: { "/?#".contains($0) }) else {
      return nil
    }
    return slashes.upper..<(url[slashes.upper...].firstIndex { "/?#".contains($0) } ?? url.endIndex)
  }

  private static func withoutSecrets(_ url: String) -> String {
    let target = String(url.prefix { $0 != "?" && $0 != "#" })
    guard let authority = authority(in: target), let sign = target[authority].lastIndex(of: "@")
    else { return target }
    return String(target[..<authority.lowerBound]) + target[target.index(after: sign)...]
  }
}
