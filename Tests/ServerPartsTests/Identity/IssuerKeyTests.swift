import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastIdentity

/// Tests of key sets, and of the choice of a key.
struct IssuerKeyTests {
  /// Returns a modulus with this many bits.
  static func modulus(_ bits: Int) -> [UInt8] {
    let first = UInt8(truncatingIfNeeded: 1 << ((bits - 1) % 8))
    return [first] + [UInt8](repeating: 0xA5, count: (bits + 7) / 8 - 1)
  }

  static func rsa(_ id: String? = nil, _ algorithm: SignatureAlgorithm? = nil) -> IssuerKey {
    IssuerKey(
      id: id, algorithm: algorithm, .rsa(modulus: modulus(2_048), exponent: [1, 0, 1]))
  }

  private static let bytes = [UInt8](repeating: 7, count: 32)

  static func document(_ keys: [String]) -> [UInt8] {
    Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8)
  }

  static func json(
    bits: Int = 2_048, exponent: [UInt8] = [1, 0, 1], _ more: String = ""
  ) -> String {
    let (n, e) = (Base64URL.encode(modulus(bits)), Base64URL.encode(exponent))
    return #"{"kty":"RSA","kid":"a","n":"\#(n)","e":"\#(e)"\#(more)}"#
  }

  private static let p256 =
    #"{"kty":"EC","crv":"P-256","x":"\#(Base64URL.encode(bytes))","y":"\#(Base64URL.encode(bytes))"}"#
  private static let ed25519 =
    #"{"kty":"OKP","crv":"Ed25519","x":"\#(Base64URL.encode(bytes))"}"#

  @Test func `reads a key of each type`() throws {
    let keys = try IssuerKey.readSet(Self.document([Self.json(), Self.p256, Self.ed25519]))
    #expect(
      keys == [
        Self.rsa("a"), IssuerKey(id: nil, .p256(x: Self.bytes, y: Self.bytes)),
        IssuerKey(id: nil, .ed25519(Self.bytes)),
      ])
  }

  @Test(arguments: [
    (2_047, false), (2_048, true), (2_049, true), (8_192, true), (8_193, false),
  ]) func `an RSA key has 2048 to 8192 bits`(bits: Int, isUsed: Bool) throws {
    let keys = try IssuerKey.readSet(Self.document([Self.json(bits: bits), Self.ed25519]))
    #expect(keys.count == (isUsed ? 2 : 1))
  }

  @Test func `a leading zero of a modulus does not count`() throws {
    let n = Base64URL.encode([0] + Self.modulus(2_048))
    let keys = try IssuerKey.readSet(
      Self.document([#"{"kty":"RSA","kid":"a","n":"\#(n)","e":"AQAB"}"#]))
    #expect(keys == [Self.rsa("a")])
  }

  @Test(arguments: [
    json(#","use":"enc""#), json(#","alg":"RSA-OAEP""#), json(#","alg":"ES256""#),
    json(#","alg":"RS512""#), json(#","alg":"HS256""#), json(#","key_ops":["encrypt"]"#),
    json(#","use":1"#), json(exponent: [1]), json(exponent: [1, 0]), json(exponent: []),
    json(exponent: [1, 0, 0, 0, 0, 0, 0, 0, 1]), #"{"kty":"oct","k":"AAAA","alg":"HS256"}"#,
    #"{"kty":"EC","crv":"P-384","x":"AAAA","y":"AAAA"}"#,
    #"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#,
    #"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#, #"{"kty":"OKP","crv":"X25519","x":"AAAA"}"#,
    #"{"kty":"RSA","n":"+","e":"AQAB"}"#, "{}", "1", "[]", #"{"kty":null}"#,
  ]) func `leaves out keys that cannot check a signature`(key: String) throws {
    #expect(try IssuerKey.readSet(Self.document([key, Self.ed25519])).count == 1)
    #expect(throws: KeySetFault.self) { try IssuerKey.readSet(Self.document([key])) }
  }

  @Test(arguments: [json(#","use":"sig""#), json(#","key_ops":["verify"],"alg":"PS256""#)])
  func `keeps keys for signatures`(key: String) throws {
    #expect(try IssuerKey.readSet(Self.document([key])).count == 1)
  }

  @Test(arguments: [(99, true), (100, true), (101, false)])
  func `a key set has at most 100 keys`(count: Int, isRead: Bool) {
    let keys = [String](repeating: Self.ed25519, count: count)
    let read = try? IssuerKey.readSet(Self.document(keys))
    #expect((read?.count == count) == isRead)
  }

  @Test(arguments: [(-1, true), (0, true), (1, false)])
  func `a key set has at most 1 MiB`(more: Int, isRead: Bool) {
    let document = Self.document([Self.ed25519])
    let spaces = [UInt8](repeating: 0x20, count: (1 << 20) - document.count + more)
    #expect(((try? IssuerKey.readSet(document + spaces)) != nil) == isRead)
  }

  @Test(arguments: ["", "[]", "{}", #"{"keys":null}"#, #"{"keys":{}}"#, #"{"keys":[]}"#, "{"])
  func `other documents are no key sets`(text: String) {
    #expect(throws: KeySetFault.self) { try IssuerKey.readSet(Array(text.utf8)) }
  }

  @Test func `each type of key fits its own algorithms alone`() {
    let fitting: [([SignatureAlgorithm], IssuerKey)] = [
      ([.rs256, .ps256], Self.rsa()), ([.ps256], Self.rsa("a", .ps256)),
      ([.es256], IssuerKey(id: nil, .p256(x: Self.bytes, y: Self.bytes))),
      ([.edDSA], IssuerKey(id: nil, .ed25519(Self.bytes))),
    ]
    for (algorithms, key) in fitting {
      #expect(SignatureAlgorithm.allCases.filter(key.fits) == algorithms)
    }
  }

  @Test func `a key is chosen by its id, and must fit the algorithm`() {
    let keys = [Self.rsa("a", .rs256), Self.rsa("b", .ps256), Self.rsa("b", .rs256)]
    #expect(keys.choice(of: "a", for: .rs256) == .key(keys[0]))
    #expect(keys.choice(of: "b", for: .rs256) == .key(keys[2]))
    #expect(keys.choice(of: "c", for: .rs256) == .unknown)
    let unfit = IssuerKeyChoice.unfit(reason: "its algorithm is not that of its key")
    #expect(keys.choice(of: "a", for: .ps256) == unfit)
    #expect(keys.choice(of: "a", for: .es256) == unfit)
  }

  @Test func `without an id, exactly one key must fit`() {
    let keys = [Self.rsa("a", .rs256), Self.rsa("b", .ps256), Self.rsa("c", .ps256)]
    #expect(keys.choice(of: nil, for: .rs256) == .key(keys[0]))
    #expect(
      keys.choice(of: nil, for: .ps256) == .unfit(reason: "it names none of several keys"))
    #expect(keys.choice(of: nil, for: .edDSA) == .unknown)
    #expect([IssuerKey]().choice(of: nil, for: .rs256) == .unknown)
  }
}
