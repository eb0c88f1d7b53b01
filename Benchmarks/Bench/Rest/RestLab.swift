import Foundation
import HoldfastTestKit

/// A lab with two idle phones in a network namespace whose device is captured.
///
/// One phone is pinged every second, and the other is never pinged. The cost of an idle minute is
/// one minute of the second phone plus the cost of a minute's pings.
enum RestLab {
  static let pings = 60.0 / 54

  /// Returns the figures of a round for one minute: the `bytes` of IP, the bytes `carried` by TCP,
  /// and the `wakes`.
  static func play(for window: Duration) async throws -> Rounds.Figures {
    if let obstacle = NetworkLab.obstacle { throw Unavailable(obstacle) }
    return try await NetworkLab.with { lab in
      let scratch = try Scratch()
      let calm = try await Follower(lab, port: 8801, ping: "3600s", in: scratch)
      let pinged = try await Follower(lab, port: 8802, ping: "1s", in: scratch)
      let capture = try await Capture(lab, ports: [8801, 8802])
      let seconds = window.inSeconds
      // A connection is stable after ten seconds, and idle threads end after five seconds.
      try await Task.sleep(for: .seconds(16))
      let before = (try await capture.counts(), try calm.wakes(), try pinged.wakes())
      try await Task.sleep(for: window)
      let after = (try await capture.counts(), try calm.wakes(), try pinged.wakes())
      let seen = zip(after.0, before.0).map { $0 - $1 }
      func minute(_ rest: Double, _ pinged: Double) -> Measurement {
        Measurement(rest * 60 / seconds + (pinged - rest) / seconds * pings)
      }
      return [
        "bytes": minute(seen[1], seen[4]), "carried": minute(seen[2], seen[5]),
        "wakes": minute(
          Follower.wakes(from: before.1, to: after.1), Follower.wakes(from: before.2, to: after.2)),
      ]
    }
  }
}

/// A backend and a phone that follows it, each in a separate process.
private struct Follower {
  private let server: LabProcess
  private let phone: LabProcess

  init(_ lab: NetworkLab, port: Int, ping: String, in scratch: Scratch) async throws {
    let host = NetworkLab.serverAddress
    server = try await lab.spawn(
      in: .net,
      [
        Peer.program, "shop-server", "--host", host, "--port", "\(port)", "--ping-interval", ping,
        "--data", scratch("server\(port)"),
      ])
    var lines: [String] = []
    for await line in server.lines {
      lines.append(line)
      if lines.count == 2 { break }
    }
    guard lines.count == 2 else { throw Unavailable("the backend did not start") }
    phone = try await lab.spawn(
      in: .phone,
      [
        Peer.program, "follow", lines[0], "--token", lines[1], "--data", scratch("phone\(port)"),
      ])
    for await line in phone.lines where line.contains("CONNECTED") { return }
    throw Unavailable("the phone did not connect")
  }

  /// Returns, for each thread of the phone, the number of times that it has slept and woken
  /// (proc(5)).
  func wakes() throws -> [String: Double] {
    let tasks = "/proc/\(phone.identifier)/task"
    var found: [String: Double] = [:]
    for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
      // A thread that has ended in the meantime has no file.
      guard let status = try? String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
      else { continue }
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      found[task] = line?.split(separator: "\t").last.flatMap { Double($0) }
    }
    return found
  }

  /// Returns the number of wake-ups between two counts. A thread that has ended woke once more to
  /// end.
  static func wakes(from before: [String: Double], to after: [String: Double]) -> Double {
    let retained = after.reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
    return retained + Double(before.keys.count { after[$0] == nil })
  }
}

/// The program `Benchmarks/peers/capture.py`, which captures the traffic of the phone's Wi-Fi.
private struct Capture {
  private let program: LabProcess

  init(_ lab: NetworkLab, ports: [Int]) async throws {
    program = try await lab.spawn(
      in: .phone,
      ["/usr/bin/python3", "Benchmarks/peers/capture.py", "wlan0"] + ports.map { "\($0)" })
    for await line in program.lines where line == "ready" { return }
    throw Unavailable(await program.diagnostics.reduce("the capture did not begin") { $1 })
  }

  /// Returns, for each port, the packets, the bytes of IP and the bytes carried so far.
  func counts() async throws -> [Double] {
    program.send("")
    for await line in program.lines { return line.split(separator: " ").compactMap { Double($0) } }
    throw Unavailable("the capture ended")
  }
}
