import Foundation
import HoldfastServerSockets
import HoldfastTestKit
import Testing

/// Tests of the built program `holdfast relay`, which connects to a scripted backend.
@Suite(.timeLimit(.minutes(60))) struct RelayCommandTests {
  @Test func `JSON output reports the states, the pairing, each question and the end`() async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    let run = try RelayRun(peer, "--json")
    var lines = [await run.line(with: #""event":"pair""#)]
    peer.say(.steps("a"))
    lines.append(await run.line(with: #""event":"question""#))
    run.process.signal(SIGTERM)
    let rest = await run.rest()
    #expect(rest.status == 0)
    let word =
      #""word":"harbour","code":"123456","message":"Say harbour and 123456.","expiresIn":600,"#
      + #""mcp":"\#(peer.url)/mcp"}"#
    #expect(lines[0].hasSuffix(#""event":"pair",\#(word)"#))
    let span = #""start":"2020-05-04T00:00:00Z","end":"2020-05-05T00:00:00Z""#
    #expect(
      lines[1].contains(
        #""event":"question","id":"a","types":["STEPS"],\#(span),"outcome":"answered","points":0"#))
    #expect(!lines[1].contains(#""answer":"#))
    #expect(rest.lines.contains { $0.contains(#""status":"stopping""#) })
    #expect(rest.lines.contains { $0.contains(#""status":"idle""#) })
    #expect(try await peer.left() == .peerClosed(code: 1000, reason: ""))
    await peer.stop()
  }

  @Test(arguments: [true, false])
  func `a new assistant is shown with its name and how to end it`(isJSON: Bool) async throws {
    let peer = try await RelayPeer(.say(.code()))
    let run = isJSON ? try RelayRun(peer, "--json") : try RelayRun(peer)
    _ = await run.line(with: isJSON ? #""event":"pair""# : "-- tell your assistant")
    peer.say(.code("meadow", newAssistants: [.pad]))
    let line = await run.line(with: "Pad")
    if isJSON {
      let members = #""id":"3f9a0c41d2e7","name":"Pad","version":"1.2""#
      #expect(line.contains(#""event":"assistant",\#(members)"#))
    } else {
      #expect(line.hasSuffix("Pad 1.2 has signed in and may ask for health data"))
      let ending = await run.line(with: "-- if you did not expect this")
      #expect(ending.contains("holdfast relay assistants --server \(peer.url) --data "))
      #expect(ending.hasSuffix(" --end 3f9a0c41d2e7"))
    }
    run.process.signal(SIGTERM)
    _ = await run.rest()
    await peer.stop()
  }

  @Test func `without a desktop the notification is printed as an event`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let run = try RelayRun(peer, "--json")
    // The notification and the pairing code come from two tasks, so either line may come first.
    let shown = await run.lines(with: [#""event":"notification""#, #""event":"pair""#])
    #expect(shown[0].contains(#""title":"Health data for your assistant""#))
    run.process.signal(SIGINT)
    let rest = await run.rest()
    #expect(
      rest.lines.contains { $0.hasSuffix(#""event":"notification","title":null,"body":null}"#) })
    await peer.stop()
  }

  @Test func `text output shows the word in large letters, the code and each question`()
    async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    let run = try RelayRun(peer)
    let lines = await run.line(with: "-- tell your assistant")
    #expect(lines == "-- tell your assistant: word harbour, code 123456, within 10 minutes")
    peer.say(.steps("a"))
    let asked = await run.line(with: "STEPS")
    #expect(asked.contains("  STEPS  2020-05-04T00:00:00Z to 2020-05-05T00:00:00Z  0 points  "))
    run.process.signal(SIGTERM)
    _ = await run.rest()
    #expect(run.seen.takeAll().contains("    H A R B O U R"))
    await peer.stop()
  }

  @Test func `answers are printed only with the option --show-values`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let run = try RelayRun(peer, "--json", "--show-values")
    _ = await run.line(with: #""event":"pair""#)
    peer.say(.steps("a"))
    let line = await run.line(with: #""event":"question""#)
    #expect(line.contains(#""answer":{"success":true"#))
    run.process.signal(SIGTERM)
    _ = await run.rest()
    await peer.stop()
  }

  @Test func `a data directory without health data causes a warning that answers are empty`()
    async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    let run = try RelayRun(peer, "--json")
    var lines: [String] = []
    for await line in run.process.diagnostics {
      lines.append(line)
      break
    }
    #expect(lines.first?.contains(" contains no health data, so every answer is empty; ") == true)
    _ = await run.line(with: #""event":"pair""#)
    run.process.signal(SIGTERM)
    _ = await run.rest()
    await peer.stop()
  }

  @Test func `each kind of error ends the command with its own exit status`() async throws {
    let peer = try await RelayPeer(.refuse(status: 403))
    let forbidden = try RelayRun(peer, "--json")
    #expect(await forbidden.rest().status == 4)
    await peer.stop()
    let unreachable = try RelayRun(peer, "--json")
    #expect(await unreachable.rest().status == 6)
  }

  @Test func `SIGUSR1 moves the command to the background, where a start is refused`() async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    let run = try RelayRun(peer, "--json", "--profile", "foreground")
    _ = await run.line(with: #""status":"running""#)
    run.process.signal(SIGUSR1)
    #expect(await run.line(with: #""status":"idle""#).contains(#""reason":"background""#))
    run.process.signal(SIGHUP)
    #expect(await run.line(with: #""kind":"in-background""#) != "")
    run.process.signal(SIGTERM)
    #expect(await run.rest().status == 0)
    await peer.stop()
  }

  @Test func `simultaneous SIGUSR2 and SIGHUP move to the foreground and then start the relay`()
    async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    let run = try RelayRun(peer, "--json", "--profile", "foreground")
    _ = await run.line(with: #""status":"running""#)
    for _ in 1...5 {
      run.process.signal(SIGUSR1)
      _ = await run.line(with: #""status":"idle""#)
      for signal in [SIGUSR2, SIGHUP] { run.process.signal(signal) }
      #expect(await run.line(with: #""status":"running""#) != "")
    }
    run.process.signal(SIGTERM)
    #expect(await run.rest().status == 0)
    await peer.stop()
  }

  @Test func `with the option --stay the command waits for SIGHUP after an error`() async throws {
    let peer = try await RelayPeer(.refuse(status: 403))
    let run = try RelayRun(peer, "--json", "--stay")
    _ = await run.line(with: #""status":"error""#)
    peer.meet(.say(.code()))
    run.process.signal(SIGHUP)
    #expect(await run.line(with: #""status":"running""#) != "")
    run.process.signal(SIGTERM)
    #expect(await run.rest().status == 0)
    await peer.stop()
  }
}

/// A running process of `holdfast relay`.
private struct RelayRun {
  let process: LabProcess
  /// The lines that `line(with:)` and `lines(with:)` skipped.
  let seen = Mailbox<String>()
  private let lines = Mailbox<String>()
  private let scratch: Scratch

  init(_ peer: RelayPeer, _ more: String...) throws {
    scratch = try Scratch()
    let tests = Bundle.main.executableURL ?? URL(filePath: CommandLine.arguments[0])
    let path = tests.resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: "holdfast").path
    process = try LabProcess(
      [path, "relay", "--server", peer.url, "--data", scratch("phone")]
        + ["--set", "retry.first=100ms,100ms", "--set", "retry.serverJitter=1ms"] + more,
      environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"])
    Task { [process, lines] in
      for await line in process.lines { lines.put(line) }
      lines.close()
    }
  }

  /// Returns the next line that contains a text, or an empty string if the program ends first.
  func line(with text: String) async -> String {
    while let line = await lines.next() {
      if line.contains(text) { return line }
      seen.put(line)
    }
    return ""
  }

  /// Returns the next line that contains each text, in the order of `texts`. The lines may arrive
  /// in any order.
  func lines(with texts: [String]) async -> [String] {
    var found = texts.map { _ in "" }
    while found.contains(""), let line = await lines.next() {
      let index = texts.indices.first { found[$0].isEmpty && line.contains(texts[$0]) }
      if let index { found[index] = line } else { seen.put(line) }
    }
    return found
  }

  /// Returns the remaining lines and the exit status.
  func rest() async -> (lines: [String], status: Int32) {
    var left: [String] = []
    while let line = await lines.next() { left.append(line) }
    return (left, await process.exit())
  }
}
