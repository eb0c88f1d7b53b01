import LinkProtocols
import LinkServerCore
import LinkWire

extension Tokens {
  /// What a request carries: the `Authorization` field if there is one, else `token` of the query.
  func credential(of head: HTTPRequestHead) -> Credential {
    if head.first("authorization") != nil {
      return head.bearer.map(verify) ?? .invalid(reason: "not a bearer token")
    }
    guard let item = head.query.first(where: { $0.name == "token" }), !item.value.isEmpty else {
      return .missing
    }
    return verify(item.value)
  }
}

extension Credential {
  /// The user of a signed token, for the log.
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
    case .streamHealth, .refused: nil
    }
  }
}
