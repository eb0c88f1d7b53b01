import Testing

@testable import HoldfastProtocols

@Suite struct GzipBodyTests {
  private static let text = Array(String(repeating: "steps and more steps, ", count: 9_000).utf8)

  @Test func `compressing and decompressing a body restores it`() throws {
    for body in [[], [7], Self.text] {
      let packed = try #require(GzipBody.deflate(body))
      #expect(try GzipBody.inflate(packed, atMost: body.count) == body)
    }
  }

  @Test func `decompresses a body from the gzip program`() throws {
    // The output of `printf hello | gzip -n`.
    let packed: [UInt8] = [
      0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10,
      0x36, 5, 0, 0, 0,
    ]
    #expect(try GzipBody.inflate(packed, atMost: 5) == Array("hello".utf8))
    #expect(try GzipBody.inflate(packed + packed, atMost: 10) == Array("hellohello".utf8))
  }

  @Test(arguments: [-1, 0, 1])
  func `fails if the decompressed body exceeds the limit`(beyond: Int) throws {
    let packed = try #require(GzipBody.deflate(Self.text))
    let found = try? GzipBody.inflate(packed, atMost: Self.text.count + beyond)
    #expect(found == (beyond < 0 ? nil : Self.text))
    if beyond < 0 {
      #expect(throws: GzipBody.Fault.tooLong) {
        try GzipBody.inflate(packed, atMost: Self.text.count + beyond)
      }
    }
  }

  @Test func `rejects a body that is not gzip, damaged or truncated`() throws {
    let packed = try #require(GzipBody.deflate(Self.text))
    var damaged = packed
    damaged[packed.count - 5] ^= 1
    for bytes in [[], Array("hello".utf8), damaged, packed.dropLast(), packed + [1]] {
      #expect(throws: GzipBody.Fault.malformed) {
        try GzipBody.inflate(bytes, atMost: 1 << 20)
      }
    }
  }

  @Test func `a lack of memory for inflating is not reported as the sender's fault`() {
    // These are `Z_MEM_ERROR`, `Z_DATA_ERROR` and `Z_BUF_ERROR` (zlib.h).
    #expect([-4, -3, -5].map { GzipBody.fault($0) } == [.noMemory, .malformed, .malformed])
  }
}
