import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastTestKit
import Testing

@Suite struct RelayPartsTests {
  private static func object(_ text: String) -> HealthObject {
    HealthObject(succeeded: true, bytes: Array(#"{"success":true,"t":"\#(text)"}"#.utf8))
  }

  private static func parts(_ frames: [PhoneMessage]) -> [HealthPart] {
    frames.compactMap { if case .part(_, let part) = $0 { part } else { nil } }
  }

  private static func joined(_ parts: [HealthPart]) throws(RelayWireError) -> HealthObject? {
    var assembly = HealthAssembly()
    var whole: HealthObject?
    for part in parts { whole = try assembly.take(part, of: RelaySample.id) }
    return whole
  }

  @Test func `an answer that fits stays whole, and one byte more splits it`() {
    let object = Self.object(String(repeating: "a", count: 2_000))
    let whole = PhoneMessage.healthData(RelaySample.id, object)
    let length = whole.bytes.count
    func frames(_ limit: Int) -> [PhoneMessage] {
      PhoneMessage.frames(answering: .healthData, RelaySample.id, object, atMost: limit)
    }
    #expect(frames(length + 1) == [whole])
    #expect(frames(length) == [whole])
    #expect(Self.parts(frames(length - 1)).count == 2)
  }

  @Test func `every frame keeps the limit, and the parts form the answer again`() throws {
    var generator = RandomSource(seed: 12)
    let long = RelaySample.requestID(String(repeating: "\u{1}", count: 64))
    for _ in 0..<200 {
      var text = JSONWriter()
      text.string(generator.text(upTo: 3_000))
      let object = HealthObject(
        succeeded: false,
        bytes: Array(#"{"t":"#.utf8) + text.bytes + Array(",\"success\":false}".utf8))
      let limit = Int.random(in: 1_024...9_000, using: &generator)
      let frames = PhoneMessage.frames(answering: .summary, long, object, atMost: limit)
      guard frames.count > 1 else { continue }
      var parts: [HealthPart] = []
      for frame in frames {
        #expect(frame.bytes.count <= limit)
        guard case .part(long, let part) = try PhoneMessage.read(frame.bytes) else {
          Issue.record("no part")
          return
        }
        parts.append(part)
      }
      #expect(try Self.joined(parts) == object)
    }
  }

  @Test func `a frame has up to 200,000 bytes by default`() {
    let object = Self.object(String(repeating: "a", count: 300_000))
    let frames = PhoneMessage.frames(answering: .healthData, RelaySample.id, object)
    let longest = frames.map(\.bytes.count).max() ?? 0
    #expect((199_000...200_000).contains(longest), "\(longest)")
  }

  @Test func `a space counts as one byte and a quote as two`() {
    func count(_ text: String) -> Int {
      let object = Self.object(String(repeating: text, count: 20_000))
      return Self.parts(
        PhoneMessage.frames(answering: .healthData, RelaySample.id, object, atMost: 4_096)
      ).count
    }
    #expect(count(" ") == count("a"))
    #expect(count("\"") > count("a"))
  }

  @Test func `parts must be consecutive`() throws {
    let object = Self.object(String(repeating: "a", count: 4_000))
    let parts = Self.parts(
      PhoneMessage.frames(answering: .healthData, RelaySample.id, object, atMost: 1_024))
    #expect(parts.count > 3)
    #expect(try Self.joined(parts) == object)
    #expect(try Self.joined(Array(parts.dropLast())) == nil)
    let wrong = RelayWireError(
      .outOfBounds(field: "index"), id: RelaySample.id, kind: .healthData)
    #expect(throws: wrong) { try Self.joined([parts[0], parts[2]]) }
    #expect(throws: wrong) { try Self.joined([parts[1]]) }
    #expect(throws: wrong) { try Self.joined([parts[0], parts[0]]) }
    var other = parts[1]
    other.count += 1
    #expect(throws: wrong) { try Self.joined([parts[0], other]) }
    other = parts[1]
    other.kind = .summary
    #expect(throws: RelayWireError.self) { try Self.joined([parts[0], other]) }
  }

  @Test func `an answer is complete with its last part`() throws {
    var assembly = HealthAssembly()
    var isWhole = [assembly.isWhole]
    for (index, text) in [#"{"success""#, ":", "true}"].enumerated() {
      let part = HealthPart(kind: .summary, index: index, count: 3, text: text)
      _ = try assembly.take(part, of: RelaySample.id)
      isWhole.append(assembly.isWhole)
    }
    #expect(isWhole == [false, false, false, true])
  }

  @Test func `the parts of an answer have at most 8 MiB`() throws {
    let limit = HealthPart.maxObjectBytes
    let head = #"{"success":true,"t":""#
    func parts(_ length: Int) -> [HealthPart] {
      let tail = String(repeating: "a", count: length - head.utf8.count - 2) + "\"}"
      return [head, tail].enumerated().map {
        HealthPart(kind: .healthData, index: $0.offset, count: 2, text: $0.element)
      }
    }
    #expect(try Self.joined(parts(limit - 1))?.bytes.count == limit - 1)
    #expect(try Self.joined(parts(limit))?.bytes.count == limit)
    #expect(
      throws: RelayWireError(.tooLong(bytes: limit + 1), id: RelaySample.id, kind: .healthData)
    ) { try Self.joined(parts(limit + 1)) }
  }

  @Test func `parts that do not form an answer are refused`() {
    let part = HealthPart(kind: .summary, index: 0, count: 1, text: "{}")
    #expect(
      throws: RelayWireError(.missing(field: "success"), id: RelaySample.id, kind: .summary)
    ) { try Self.joined([part]) }
  }
}
