import HoldfastCore

@testable import HoldfastIdentity
@testable import HoldfastSessionServer

/// The properties of what a backend reads of an identity provider: key sets, tokens and claims, and
/// the names of claims that an operator writes.
enum IdentityProperty {
  private static let provider = IdentityProvider(
    issuer: "https://id.example", audience: "api",
    names: ClaimNames("shops=realm_access.roles[shop-],admin=a.b") ?? ClaimNames())

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte()
    let rest = Array(choices.rest)
    let text = String(decoding: rest, as: UTF8.self)
    switch kind % 5 {
    case 0: try keys(rest)
    case 1: try claims(rest)
    case 2: try names(text)
    case 3: try token(text)
    case _: try sessionNames(text)
    }
  }

  private static func keys(_ document: [UInt8]) throws(Broken) {
    guard let keys = try? IssuerKey.readSet(document) else { return }
    try hold((1...IssuerKey.maxKeys).contains(keys.count), "a key set has 1 to 100 keys")
    for key in keys {
      let fitting = SignatureAlgorithm.allCases.filter(key.fits)
      try hold(!fitting.isEmpty, "a key fits an algorithm")
      try hold(key.algorithm.map { fitting == [$0] } ?? true, "a named algorithm is the only one")
      switch key.material {
      case .rsa(let modulus, let exponent):
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        try hold(IssuerKey.rsaBits.contains(bits), "an RSA key has 2048 to 8192 bits")
        try hold((1...8).contains(exponent.count), "an exponent is short")
      case .p256(let x, let y): try hold(x.count == 32 && y.count == 32, "a point has 64 octets")
      case .ed25519(let bytes): try hold(bytes.count == 32, "an Ed25519 key has 32 octets")
      }
      for algorithm in SignatureAlgorithm.allCases {
        guard case .key(let found) = keys.choice(of: key.id, for: algorithm) else { continue }
        try hold(found.fits(algorithm), "a chosen key fits")
      }
    }
  }

  private static func claims(_ payload: [UInt8]) throws(Broken) {
    guard let token = try? provider.claims(of: payload) else { return }
    try hold(1...256 ~= token.claims.user.utf8.count, "a user id is 1 to 256 octets")
    try hold(token.claims.notBefore == nil, "a provider's token begins with its leeway")
    let begin = token.begins ?? Timestamp(nanoseconds: .min)
    try hold(token.credential(at: begin) == .valid(token.claims), "a token begins at its begin")
  }

  private static func names(_ text: String) throws(Broken) {
    guard let names = ClaimNames(text) else { return }
    try hold(ClaimNames("\(names)") == names, "names that were read can be written")
  }

  private static func token(_ text: String) throws(Broken) {
    guard let (header, token) = try? CompactToken.split(text) else { return }
    try hold(
      CompactToken.text(signingInput: token.signingInput, signature: token.signature) == text,
      "a token has one spelling")
    let key = IssuerKey(id: header.keyID, .ed25519([UInt8](repeating: 1, count: 32)))
    let verified = try? provider.verify(token, header, with: [key]) { _, algorithm, _, _ in
      algorithm == .edDSA
    }
    try hold(verified == nil || header.algorithm == "EdDSA", "an algorithm fits its key")
  }

  private static func sessionNames(_ text: String) throws(Broken) {
    let (user, id) = SessionNames.split(text)
    try hold(
      SessionNames.inner(id, of: user) == text || user == nil, "a name of a user has one form")
    for other in [nil, "ann", text.isEmpty ? "x" : text] {
      let parts = SessionNames.split(SessionNames.inner(id, of: other))
      try hold(parts == (other, id), "a name keeps its user and its id")
    }
  }
}
