// The functions of the engine that the playground calls. scripts/playground compiles this file with
// the core, the JSON writer and the herd to WebAssembly. The package never compiles it.
//
// The page takes room for a request, writes the request's lines there, and calls `answer`. The
// answer is one JSON object, after its number of bytes as 32 bits, and stays until the page frees
// it. The first line of a request is its kind; the others are `KEY=VALUE`.
import HoldfastCore
import HoldfastHerd
import HoldfastJSON

/// Returns room for a number of bytes.
@c(holdfast_room) func room(_ count: Int32) -> UnsafeMutableRawPointer {
  UnsafeMutableRawPointer.allocate(byteCount: Int(count), alignment: 8)
}

/// Frees the room of a request or of an answer.
@c(holdfast_free) func free(_ room: UnsafeMutableRawPointer) { unsafe room.deallocate() }

/// Returns the answer to a request.
@c(holdfast_answer) func answer(
  _ request: UnsafeMutableRawPointer, _ count: Int32
) -> UnsafeMutableRawPointer {
  let text = unsafe Array(UnsafeRawBufferPointer(start: request, count: Int(count)))
  var writer = JSONWriter(capacity: 200_000)
  writer.object { answer(Request(text), &$0) }
  let bytes = writer.bytes
  let reply = unsafe room(Int32(bytes.count + 4))
  unsafe reply.storeBytes(of: UInt32(bytes.count).littleEndian, as: UInt32.self)
  unsafe UnsafeMutableRawBufferPointer(start: reply + 4, count: bytes.count).copyBytes(from: bytes)
  return unsafe reply
}

private func answer(_ request: Request, _ writer: inout JSONWriter) {
  switch request.kind {
  case "policies": writePolicies(&writer)
  case "herd":
    do throws(RequestError) {
      let (herd, plan) = (try request.herd(), try request.plan())
      herd.play(plan).write(to: &writer)
    } catch {
      writer.entry("problems", error.problems)
    }
  case "link":
    do throws(RequestError) {
      Hand(try request.policy(), request.acts, until: request.end).write(to: &writer)
    } catch {
      writer.entry("problems", error.problems)
    }
  case _: writer.entry("problems", ["\(request.kind) is not a request"])
  }
}

/// The reasons why a request cannot be answered.
struct RequestError: Error {
  var problems: [String]
}

/// The lines of a request.
struct Request {
  let kind: String
  private let lines: [(key: String, value: String)]

  init(_ bytes: [UInt8]) {
    let rows = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    kind = rows.first.map { String($0) } ?? ""
    lines = rows.dropFirst().map { Self.pair($0) }
  }

  private static func pair(_ row: Substring) -> (key: String, value: String) {
    guard let equal = row.firstIndex(of: "=") else { return (String(row), "") }
    return (String(row[..<equal]), String(row[row.index(after: equal)...]))
  }

  func value(_ key: String) -> String? { lines.first { $0.key == key }?.value }

  func values(_ key: String) -> [String] { lines.filter { $0.key == key }.map { $0.value } }

  /// Returns the policy with its changes. Each line `set=KEY=VALUE` is a change.
  func policy() throws(RequestError) -> LinkPolicy {
    let name = value("policy") ?? LinkPolicy.socket.name
    guard let preset = LinkPolicy.preset(named: name) else {
      throw RequestError(problems: ["no policy is named \(name)"])
    }
    let changes = values("set").map { Self.pair($0[...]) }
    do throws(PolicyError) {
      return try preset.setting(changes)
    } catch {
      throw RequestError(problems: error.problems)
    }
  }

  func herd() throws(RequestError) -> Herd {
    if let naive = value("policy").flatMap({ Naive(rawValue: $0) }) { return .naive(naive) }
    let herd = Herd.policy(try policy())
    if let obstacle = herd.obstacle { throw RequestError(problems: [obstacle]) }
    return herd
  }

  func plan() throws(RequestError) -> HerdPlan {
    let cause = value("cause") ?? ""
    guard let cause = Outage.Cause(rawValue: cause) else {
      throw RequestError(problems: ["\(cause) is not a cause of an outage"])
    }
    let full = value("when-full") ?? ""
    guard let full = Door.WhenFull(rawValue: full) else {
      throw RequestError(problems: ["\(full) is not a rule of a full server"])
    }
    let length = value("outage") ?? ""
    guard let length = Duration(text: length), length <= .seconds(14_400) else {
      throw RequestError(problems: ["an outage lasts 0s to 4h, and not \(length)"])
    }
    let capacity = value("capacity") == "off" ? nil : try number("capacity", 1...10_000_000)
    return HerdPlan(
      clients: try number("clients", 1...1_000_000), outage: Outage(cause, for: length),
      door: Door(capacity: capacity, whenFull: full),
      seed: UInt64(try number("seed", 0...Int(Int32.max))))
  }

  private func number(_ key: String, _ range: ClosedRange<Int>) throws(RequestError) -> Int {
    let text = value(key) ?? ""
    guard let number = Int(text), range.contains(number) else {
      throw RequestError(
        problems: [
          "\(key) cannot be \"\(text)\"; it is a whole number from \(range.lowerBound) to "
            + "\(range.upperBound)"
        ])
    }
    return number
  }
}

/// Writes the policies, their values, and the meanings of keys.
private func writePolicies(_ writer: inout JSONWriter) {
  writer.array("policies") { list in
    for policy in LinkPolicy.presets {
      list.object {
        $0.entry("name", policy.name)
        $0.entry("obstacle", Herd.policy(policy).obstacle)
        $0.object("values") { values in
          for (key, value) in policy.values { values.entry(key, value) }
        }
      }
    }
  }
  writer.array("naive") { list in
    for naive in Naive.allCases {
      list.object {
        $0.entry("name", naive.rawValue)
        $0.entry("likeness", naive.likeness)
      }
    }
  }
  writer.array("keys") { list in
    for key in PolicyKey.all {
      list.object {
        $0.entry("name", key.name)
        $0.entry("meaning", key.meaning)
      }
    }
  }
}
