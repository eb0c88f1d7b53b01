import Testing

@testable import HoldfastProtocols

@Suite struct HashTests {
  @Test func `SHA-1 produces the digests of RFC 3174 section 7.3`() {
    let inputs: [(text: [UInt8], digest: String)] = [
      (octets("abc"), "A9 99 3E 36 47 06 81 6A BA 3E 25 71 78 50 C2 6C 9C D0 D8 9D"),
      (
        octets("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
        "84 98 3E 44 1C 3B D2 6E BA AE 4A A1 F9 51 29 E5 E5 46 70 F1"
      ),
      (
        [UInt8](repeating: 0x61, count: 1_000_000),
        "34 AA 97 3C D4 C4 DA A4 F6 1E EB 2B DB AD 27 31 65 34 01 6F"
      ),
      (
        octets(
          String(
            repeating: "0123456701234567012345670123456701234567012345670123456701234567",
            count: 10)),
        "DE A3 56 A2 CD DD 90 C7 A7 EC ED C5 EB B5 63 93 4F 46 04 52"
      ),
    ]
    for (text, digest) in inputs { #expect(SHA1.digest(text) == hex(digest)) }
  }

  @Test func `a message that just fills or just overflows a block is padded`() {
    // After 55 octets there is room for the length; after 56 octets there is not. The reference
    // values come from an independent tool.
    let reference: [(Int, String)] = [
      (0, "DA 39 A3 EE 5E 6B 4B 0D 32 55 BF EF 95 60 18 90 AF D8 07 09"),
      (55, "C1 C8 BB DC 22 79 6E 28 C0 E1 51 63 D2 08 99 B6 56 21 D6 5A"),
      (56, "C2 DB 33 0F 60 83 85 4C 99 D4 B5 BF B6 E8 F2 9F 20 1B E6 99"),
      (64, "00 98 BA 82 4B 5C 16 42 7B D7 A1 12 2A 5A 44 2A 25 EC 64 4D"),
    ]
    for (count, digest) in reference {
      #expect(SHA1.digest([UInt8](repeating: 0x61, count: count)) == hex(digest))
    }
  }

  @Test func `Base64 encodes and decodes the vectors of RFC 4648 section 10`() {
    let vectors = [
      "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=",
      "foobar": "Zm9vYmFy",
    ].sorted { $0.key < $1.key }
    for (text, encoded) in vectors {
      #expect(Base64.encode(octets(text)) == encoded)
      #expect(Base64.decode(encoded) == octets(text))
    }
  }

  @Test func `Base64 encodes and decodes the last two digits of its alphabet`() {
    let bytes: [UInt8] = [0xFB, 0xFF, 0xBF]
    #expect(Base64.encode(bytes) == "+/+/")
    #expect(Base64.decode("+/+/") == bytes)
  }

  @Test(arguments: ["Zg", "Zg=", "Zh==", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm 9", "Zm9-"])
  func `Base64 that is not canonical is rejected`(_ text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test func `the accept key matches the example of RFC 6455 section 1.3`() {
    #expect(AcceptKey.answer(to: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test(arguments: [
    ("dGhlIHNhbXBsZSBub25jZQ==", true), ("dGhlIHNhbXBsZSBub25jZR==", false), ("", false),
    ("dGhlIHNhbXBsZSBub25j", false), ("dGhlIHNhbXBsZSBub25jZSE=", false),
  ])
  func `only the Base64 of sixteen bytes is a valid key`(_ key: String, _ valid: Bool) {
    #expect(AcceptKey.isKey(key) == valid)
  }
}
