import HoldfastCore
import HoldfastKeyedHashing
import Testing

@Suite struct ContentHashTests {
  // From the examples of FIPS 180-4, and of an empty content from sha256sum.
  private static let known = [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ]

  @Test func `a hash is that of the standard, also after other contents and in pieces`() {
    var hash = ContentHash()
    for (text, expected) in Self.known + Self.known.reversed() {
      let bytes = Array(text.utf8)
      #expect(String(Hex.text(of: ContentHash.of(bytes))) == expected)
      hash.add(bytes[..<(bytes.count / 3)])
      hash.add(bytes[(bytes.count / 3)...])
      #expect(String(Hex.text(of: hash.finish())) == expected)
    }
  }
}
