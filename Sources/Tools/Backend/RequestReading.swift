import LinkProtocols
import LinkServerCore
import LinkWire

extension HTTPRequestHead {
  /// The percent-decoded path; empty, which is no route, when a segment hides a slash.
  var wholePath: String {
    guard !segments.contains(where: { $0.contains("/") }) else { return "" }
    return "/" + segments.joined(separator: "/")
  }
}

extension Tokens {
  /// What a request carries: the `Authorization` field if there is one, else `token` of the query.
  func credential(of head: HTTPRequestHead) -> Credential {
    if let field = head.first("authorization") {
      let words = field.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
      guard words.count == 2, words[0].lowercased() == "bearer" else {
        return .invalid(reason: "not a bearer token")
      }
      return verify(String(words[1]))
    }
    guard let item = head.query.first(where: { $0.name == "token" }), !item.value.isEmpty else {
      return .missing
    }
    return verify(item.value)
  }
}

extension Credential {
  /// Who a signed token says it is for; for the log.
  var user: String? {
    switch self {
    case .valid(let claims): claims.user
    case .missing, .invalid: nil
    }
  }
}

extension Call {
  /// The shop it is about; for the log.
  var shop: ShopID? {
    switch self {
    case .send(let draft): draft.shop
    case .all(let shop), .page(let shop, _): shop
    case .health, .streamHealth, .metrics, .refused: nil
    }
  }
}
