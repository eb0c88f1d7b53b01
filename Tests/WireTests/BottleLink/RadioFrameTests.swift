import HoldfastBottleData
import HoldfastCore
import Testing

/// Tests of the frames that a radio sends over a socket.
@Suite struct RadioFrameTests {
  private static let id = GATTID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
  private static let other = GATTID(high: 1, low: 2)
  /// The 128 bits of `id`, little-endian.
  private static let idBytes = [UInt8](1...16).reversed() as [UInt8]
  private static let otherBytes: [UInt8] = [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]

  static let frames: [(RadioFrame, [UInt8])] = [
    (
      .advertisement(PeripheralID(id), service: other, name: "b\u{E9}"),
      [1, 35, 0] + idBytes + otherBytes + [0x62, 0xC3, 0xA9]
    ),
    (.connected(longestValue: 514), [2, 2, 0, 2, 2]), (.disconnected, [3, 0, 0]),
    (.notification(id, [7, 8]), [4, 18, 0] + idBytes + [7, 8]),
    (.notification(id, []), [4, 16, 0] + idBytes),
    (.reply(258, [9]), [5, 4, 0, 2, 1, 1, 9]), (.reply(258, []), [5, 3, 0, 2, 1, 1]),
    (.reply(258, nil), [5, 3, 0, 2, 1, 0]),
    (.connect, [16, 0, 0]), (.disconnect, [17, 0, 0]),
    (.discover(258, [id, other]), [18, 34, 0, 2, 1] + idBytes + otherBytes),
    (.discover(258, [id]), [18, 18, 0, 2, 1] + idBytes),
    (.discover(258, []), [18, 2, 0, 2, 1]), (.subscribe(258, id), [19, 18, 0, 2, 1] + idBytes),
    (.read(258, id), [20, 18, 0, 2, 1] + idBytes),
    (.write(258, id, [7]), [21, 19, 0, 2, 1] + idBytes + [7]),
  ]

  @Test(arguments: frames)
  func `writes and reads each frame`(frame: RadioFrame, bytes: [UInt8]) throws {
    #expect(frame.bytes == bytes)
    var reader = RadioFrameReader()
    #expect(try reader.take(bytes) == [frame])
  }

  @Test(arguments: [1, 2, 3, 7, 1_000])
  func `frames are read from pieces of any size`(size: Int) throws {
    var reader = RadioFrameReader()
    var rest = Self.frames.flatMap(\.1)[...]
    var read: [RadioFrame] = []
    while !rest.isEmpty {
      read += try reader.take(rest.prefix(size))
      rest = rest.dropFirst(size)
    }
    #expect(read == Self.frames.map(\.0))
  }

  @Test(arguments: [(1_023, false), (1_024, false), (1_025, true)])
  func `a frame has up to 1,024 bytes`(length: Int, isRefused: Bool) throws {
    let value = [UInt8](repeating: 7, count: length - 16)
    let bytes =
      [4, UInt8(length & 0xFF), UInt8(length >> 8)] + Self.idBytes + value
    var reader = RadioFrameReader()
    let read = try? reader.take(bytes)
    #expect(read == (isRefused ? nil : [.notification(Self.id, value)]))
    let frame = RadioFrame.notification(Self.id, value)
    #expect(frame.bytes == Array(isRefused ? [4, 0, 4] + bytes[3..<1_027] : bytes[...]))
  }

  @Test(arguments: [
    (UInt8(1), 32), (2, 2), (4, 16), (5, 3), (18, 2), (19, 18), (20, 18), (21, 18),
  ])
  func `a frame that ends too early is refused`(kind: UInt8, least: Int) throws {
    for (length, isRefused) in [(least - 1, true), (least, false)] {
      var reader = RadioFrameReader()
      let bytes = [kind, UInt8(length), 0] + [UInt8](repeating: 0, count: length)
      #expect((try? reader.take(bytes)) == nil ? isRefused : !isRefused)
    }
  }

  @Test(arguments: [UInt8(0), 6, 15, 22, 255])
  func `an unknown kind is refused`(kind: UInt8) {
    var reader = RadioFrameReader()
    #expect(throws: RadioFault.self) { try reader.take([kind, 0, 0]) }
  }

  @Test func `frames before an unreadable one are read, and none after it`() {
    for bad: [UInt8] in [[22, 0, 0], [3, 1, 4], [2, 1, 0, 0]] {
      var reader = RadioFrameReader()
      let link: [UInt8] = [2, 2, 0, 20, 0]
      #expect(reader.readable(link + bad + link) == [.connected(longestValue: 20)])
      #expect(reader.isBroken)
      #expect(reader.readable(link) == [])
    }
  }

  @Test func `a truncated characteristic id is refused`() {
    var reader = RadioFrameReader()
    #expect(throws: RadioFault.self) { try reader.take([18, 3, 0, 2, 1, 0]) }
  }

  @Test func `a name is cut at 64 bytes`() {
    let name = String(repeating: "n", count: 65)
    let frame = RadioFrame.advertisement(PeripheralID(Self.id), service: Self.other, name: name)
    #expect(frame.bytes.count == 3 + 32 + 64)
  }
}
