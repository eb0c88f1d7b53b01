import HoldfastCore
import HoldfastJSON
import HoldfastRelayData

/// A client as it describes itself: its name, and where it may receive codes.
struct OAuthClient: Sendable, Hashable {
  var id: String
  var name: String
  var redirects: [WebURL]

  /// The most URIs of a client, and the most bytes of all together, so that an id fits into a
  /// request.
  static let (maxRedirects, maxRedirectBytes) = (16, 2_048)

  /// Returns the registered URI that a request names.
  ///
  /// URIs are compared as text (RFC 3986 section 6.2.1), but for the port of a loopback URI. A
  /// request may leave it out if the client has only one.
  func redirect(named text: String?) -> WebURL? {
    guard let text else { return redirects.count == 1 ? redirects[0] : nil }
    guard let url = WebURL(text) else { return nil }
    return redirects.contains { $0.text == text || $0.comparable == url.comparable } ? url : nil
  }

  /// Reads the URIs of a client to which this server redirects, from a member of a JSON object.
  ///
  /// Others are left out, such as those with the scheme of an app (RFC 7591 section 2 lets a server
  /// replace what it does not accept). There must be one that is left.
  fileprivate static func redirects(
    _ fields: JSONFields, _ name: String
  ) throws(OAuthFault) -> [WebURL] {
    let invalid = OAuthFault(
      .invalidRedirectURI,
      "redirect_uris must hold at most \(maxRedirects) URIs, one of them https or of this machine")
    let elements: [[UInt8]]
    do throws(FieldFault) {
      elements = try fields.elements(name, atMost: maxRedirects)
    } catch {
      throw invalid
    }
    let texts = elements.compactMap { element in
      var reader = JSONReader(element)
      return try? reader.string()
    }
    let urls = texts.compactMap { WebURL($0) }
    guard !urls.isEmpty, texts.count == elements.count,
      urls.reduce(0, { $0 + $1.text.utf8.count }) <= maxRedirectBytes
    else { throw invalid }
    return urls
  }

  /// Returns a name to show: the client's own, or else the host of its first URI.
  fileprivate static func name(_ given: String?, _ redirects: [WebURL]) -> String {
    AssistantName(given)?.name ?? redirects[0].host
  }
}

// Registered clients. Their ids hold their metadata, signed, so that none is stored.
extension OAuthClient {
  private static let prefix = "hfc_"
  private static let macBytes = 32
  /// The maximum size of an id, in bytes. Those that are issued are smaller.
  static let maxIDBytes = 6_000

  /// Reads a request for registration (RFC 7591 section 2).
  ///
  /// Metadata that this server does not support is replaced (section 3.2.1).
  static func register(
    _ body: [UInt8], nonce: [UInt8], _ hashes: OAuthHashes
  ) throws(OAuthFault) -> OAuthClient {
    let fields = JSONFields(body, keeping: ["redirect_uris", "client_name", "response_types"])
    let given: String?
    do throws(FieldFault) {
      try fields.check()
      given = try fields.optionalString("client_name")
      let types = try fields.elements("response_types", atMost: 16)
      guard types.isEmpty || types.contains(Array("\"code\"".utf8)) else {
        throw FieldFault.unknownValue(field: "response_types", known: ["code"])
      }
    } catch {
      throw OAuthFault(.invalidClientMetadata, error.description)
    }
    let redirects = try redirects(fields, "redirect_uris")
    let name = name(given, redirects)
    var writer = JSONWriter(capacity: 400)
    writer.beginObject()
    writer.entry("n", name)
    writer.entry("r", redirects.map(\.text))
    writer.entry("x", Base64URL.encode(nonce))
    writer.endObject()
    let mac = hashes.sign(writer.bytes, for: .client)
    return OAuthClient(
      id: prefix + Base64URL.encode(writer.bytes + mac), name: name, redirects: redirects)
  }

  /// Reads the metadata in the id of a registered client. Returns `nil` if this backend did not
  /// issue the id.
  static func registered(_ id: String, _ hashes: OAuthHashes) -> OAuthClient? {
    guard id.hasPrefix(prefix), id.utf8.count <= maxIDBytes,
      let all = Base64URL.decode(id.dropFirst(prefix.count)), all.count > macBytes
    else { return nil }
    let (signed, mac) = (Array(all.dropLast(macBytes)), Array(all.suffix(macBytes)))
    guard hashes.areEqual(mac, hashes.sign(signed, for: .client)) else { return nil }
    let fields = JSONFields(signed, keeping: ["n", "r"])
    guard let redirects = try? redirects(fields, "r"), let given = try? fields.optionalString("n")
    else { return nil }
    return OAuthClient(id: id, name: name(given, redirects), redirects: redirects)
  }

  /// The answer to a registration (RFC 7591 section 3.2.1).
  func registration(at wall: Timestamp) -> [UInt8] {
    var writer = JSONWriter(capacity: 1_000)
    writer.beginObject()
    writer.entry("client_id", id)
    writer.entry("client_id_issued_at", wall.wholeSeconds)
    writer.entry("client_name", name)
    writer.entry("redirect_uris", redirects.map(\.text))
    writer.entry("token_endpoint_auth_method", "none")
    writer.entry("grant_types", ["authorization_code", "refresh_token"])
    writer.entry("response_types", ["code"])
    writer.entry("scope", OAuthScopes.healthRead.text)
    writer.endObject()
    return writer.bytes
  }
}

// Clients whose id is the URL of their metadata (draft-ietf-oauth-client-id-metadata-document).
extension OAuthClient {
  /// Returns whether an id is the URL of a document: `https`, with a path without dot segments.
  static func isDocument(_ id: String) -> Bool {
    guard let url = WebURL(id), url.isSecure, !url.isLoopback, url.rest.hasPrefix("/") else {
      return false
    }
    let path = url.rest.split(separator: "?", omittingEmptySubsequences: false)[0]
    let dots: Set<String> = [".", "..", "%2e", "%2e.", ".%2e", "%2e%2e"]
    return !path.split(separator: "/").contains { dots.contains($0.lowercased()) }
  }

  /// Reads a document. Returns `nil` unless it is one of this id, of a public client.
  init?(document body: [UInt8], id: String) {
    let names = [
      "client_id", "client_name", "redirect_uris", "token_endpoint_auth_method", "client_secret",
    ]
    let fields = JSONFields(body, keeping: names)
    guard (try? fields.check()) != nil, (try? fields.optionalString("client_id")) == id,
      !fields.has("client_secret"),
      let method = try? fields.optionalString("token_endpoint_auth_method") ?? "none",
      method == "none", let redirects = try? Self.redirects(fields, "redirect_uris"),
      let given = try? fields.optionalString("client_name") ?? ""
    else { return nil }
    self.init(id: id, name: Self.name(given, redirects), redirects: redirects)
  }
}

/// A refusal of OAuth, with the code that the specifications define.
struct OAuthFault: Error, Sendable, Hashable {
  enum Code: String, Sendable {
    // RFC 6749 sections 4.1.2.1 and 5.2.
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case invalidScope = "invalid_scope"
    case unsupportedResponseType = "unsupported_response_type"
    case unsupportedGrantType = "unsupported_grant_type"
    case accessDenied = "access_denied"
    case temporarilyUnavailable = "temporarily_unavailable"
    // RFC 8707 section 2.
    case invalidTarget = "invalid_target"
    // RFC 7591 section 3.2.2.
    case invalidRedirectURI = "invalid_redirect_uri"
    case invalidClientMetadata = "invalid_client_metadata"
  }

  var code: Code
  /// A sentence for people. It contains no part of the request.
  var text: String

  init(_ code: Code, _ text: String) {
    self.code = code
    self.text = text
  }

  /// The body of an error response (RFC 6749 section 5.2).
  var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("error", code.rawValue)
    writer.entry("error_description", text)
    writer.endObject()
    return writer.bytes
  }
}
