import HoldfastCore
import HoldfastTestKit
import Testing

/// Property tests of the codec of each kind of message. They use random messages.
@Suite struct WireFamilyTests {
  /// Returns random messages. They are the same for each test.
  private func messages(of family: WireFamily, count: Int = 50) -> [WireFamily.Drawn] {
    var generator = RandomSource(seed: 20)
    return (0..<count).map { _ in family.draw(&generator) }
  }

  @Test(arguments: WireFamily.all)
  func `a random message is read back unchanged and is JSON for Foundation`(
    family: WireFamily
  ) throws {
    for drawn in messages(of: family) {
      #expect(try drawn.isRead(drawn.bytes), "\(drawn.bytes.text)")
      #expect(try JSONTree(drawn.bytes).kind == "object", "\(drawn.bytes.text)")
    }
  }

  @Test(arguments: WireFamily.all)
  func `order, white space, escapes and unknown members change nothing`(
    family: WireFamily
  ) throws {
    var generator = RandomSource(seed: 21)
    for drawn in messages(of: family) {
      let text = try JSONTree(drawn.bytes).spelled(by: &generator, isExtended: true)
      #expect(try drawn.isRead(Array(text.utf8)), "\(text)")
    }
  }

  @Test(arguments: WireFamily.all)
  func `the last of two members with the same name counts`(family: WireFamily) throws {
    for drawn in messages(of: family) {
      for name in try JSONTree(drawn.bytes).members.keys {
        let text = "{\"\(name)\":null," + drawn.bytes.text.dropFirst()
        #expect(try drawn.isRead(Array(text.utf8)), "\(text)")
      }
    }
  }

  @Test(arguments: WireFamily.all)
  func `a message that is truncated or has trailing bytes is refused`(family: WireFamily) {
    var generator = RandomSource(seed: 21)
    for drawn in messages(of: family) {
      let end = Int.random(in: 0..<drawn.bytes.count, using: &generator)
      for bytes in [Array(drawn.bytes[..<end]), drawn.bytes + [0x7D], [0x20, 0] + drawn.bytes] {
        #expect(throws: (any Error).self, "\(bytes.text)") { try family.isStable(bytes) }
      }
    }
  }

  @Test(arguments: WireFamily.all)
  func `damaged bytes are refused, or read as another message that can be written`(
    family: WireFamily
  ) {
    var generator = RandomSource(seed: 21)
    for drawn in messages(of: family, count: 100) {
      let damaged = generator.damaged(drawn.bytes)
      let noise = (0..<8).map { _ in UInt8.random(in: 0...255, using: &generator) }
      for bytes in [damaged, noise] {
        guard let isStable = try? family.isStable(bytes) else { continue }
        #expect(isStable, "\(bytes.text)")
      }
    }
  }

  private static let values: [JSONTree] = [
    .object([:]), .array([]), .string(""), .bool(true), .int(-1), .int(1 << 53), .double(1.5),
    .double(1e30),
  ]

  @Test(arguments: WireFamily.all)
  func `an error names the member that is missing, of another type or out of range`(
    family: WireFamily
  ) throws {
    var generator = RandomSource(seed: 21)
    for drawn in messages(of: family, count: 10) {
      let members = try JSONTree(drawn.bytes).members
      for (name, value) in members {
        // An object with other members, or an array with other elements, causes other errors.
        let isScalar = !["object", "array"].contains(value.kind)
        let others = Self.values.filter { isScalar || $0.kind != value.kind }
        for other in [nil] + others {
          var changed = members
          changed[name] = other
          let text = JSONTree.object(changed).spelled(by: &generator, isExtended: false)
          do {
            #expect(try family.isStable(Array(text.utf8)), "\(text)")
          } catch {
            let isNamed = "\(error)".contains(name) || "\(error)".hasSuffix("is missing")
            #expect(isNamed || !family.namesMembers, "\(error) of \(name) in \(text)")
          }
        }
      }
    }
  }
}
