/// The head of an HTTP answer, as far as it says who wrote it and where it points.
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

  /// Whether a network that wants a login first wrote it in the place of the server of a URL: 511
  /// (RFC 6585 section 6), a redirect to another host, or a page for people.
  ///
  /// Over TLS nobody else can write an answer, and no network is between this device and itself.
  public func isLoginPage(from url: String) -> Bool {
    guard !Self.isSecure(url), let host = Self.host(of: url),
      !NetworkAddress.isLoopback(host: host)
    else { return false }
    // A server also sends visitors on to itself: from http to https, for example.
    if isRedirect { return location.flatMap(Self.host).map { $0 != host } ?? false }
    return status == 511 || isPage
  }

  /// Whether it is no answer to a program: a redirect, or a page for people.
  public var isForPeople: Bool { isRedirect || isPage }

  /// Where it points, or that it is a page, for people; `nil` for an answer to a program.
  ///
  /// A target stands there without user, query and fragment, which may hold secrets.
  public var words: String? {
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

  /// The host of an absolute URL in lower case, without brackets; `nil` for a relative one.
  private static func host(of url: String) -> String? {
    let url = url.lowercased()
    guard let authority = authority(in: url) else { return nil }
    let name = url[authority].split(separator: "@").last ?? ""
    if name.first == "[" { return String(name.dropFirst().prefix { $0 != "]" }) }
    return String(name.prefix { $0 != ":" })
  }

  /// The place of user, host and port in an absolute URL; `nil` in a relative one.
  private static func authority(in url: String) -> Range<String.Index>? {
    guard let slashes = url[...].range(of: "//") else { return nil }
    // What is before it is a scheme, or nothing: a relative URL may name another one in its query.
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
