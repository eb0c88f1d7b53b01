import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of `holdfast bottle`, with the real program at both ends of a radio on a Unix socket.
@Suite(.timeLimit(.minutes(60)))
struct BottleCommandTests {
  @Test func `a phone finds a bottle that wakes, and prints its drinks as they arrive`()
    async throws
  {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    let phone = try BottlePhone(scratch)
    let first = try await phone.next { event -> [String]? in
      event["status"] as? String == "scanning" ? event["outstanding"] as? [String] : nil
    }
    #expect(first == ["scan", "queued-scan"])
    bottle.act("move", "still", "pour 250")
    // A scan burst that finds the bottle reports "connecting" first. The queued connect that
    // follows the burst does not.
    try await phone.reaches("connected")
    let drink = try await phone.next { $0["event"] as? String == "drink" ? $0 : nil }
    #expect(drink["amountML"] as? Int == 250)
    #expect(drink["via"] as? String == "sync")
    #expect(Set(drink.keys) == ["at", "event", "id", "amountML", "time", "via"])
    bottle.act("pour 40")
    // Wait for the drink, and for a status that shows no unsynced record.
    var (live, state): ([String: Any], [String: Any]) = ([:], [:])
    while live.isEmpty || state.isEmpty {
      let event = try await phone.next { event -> [String: Any]? in event }
      if event["event"] as? String == "drink" { live = event }
      if event["levelML"] as? Int == 310, event["unsynced"] as? Int == 0 { state = event }
    }
    #expect(live["via"] as? String == "live")
    #expect(live["time"] as? String != nil, "the clock was set on connecting")
    #expect(try await phone.end().status == 0)
    #expect(await bottle.quit() == 0)
    #expect(try await BottlePhone.stored(scratch) == [1, 2])
  }

  @Test func `a phone that is killed between storing and acknowledging prints each drink once`()
    async throws
  {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch, ["--mtu", "65"])  // 4 records per chunk
    bottle.act("deaf", "move", "still")
    for _ in 1...6 { bottle.act("pour 40") }
    let first = try BottlePhone(scratch)
    var printed: [Int] = []
    // The first chunk is stored and printed, but its acknowledgement does not arrive.
    for _ in 1...4 { printed.append(try await first.drink()) }
    try await BottlePhone.confirmed(scratch)
    printed += try await first.end(SIGKILL).drinks
    bottle.act("hear", "move")
    let second = try BottlePhone(scratch)
    while printed.count < 6 { printed.append(try await second.drink()) }
    try await second.next { $0["unsynced"] as? Int == 0 ? () : nil }
    printed += try await second.end().drinks
    #expect(printed == [1, 2, 3, 4, 5, 6])
    #expect(try await BottlePhone.stored(scratch) == [1, 2, 3, 4, 5, 6])
    let third = try BottlePhone(scratch)
    try await third.reaches("connected")
    #expect(try await third.end().drinks == [])
    #expect(await bottle.quit() == 0)
  }

  @Test func `a bottle that restarts during a sync delivers every drink once`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch, ["--mtu", "65"])
    bottle.act("deaf", "move", "still")
    for _ in 1...6 { bottle.act("pour 40") }
    let phone = try BottlePhone(scratch)
    var printed = [try await phone.drink()]
    bottle.act("restart", "hear", "move")
    while printed.count < 6 { printed.append(try await phone.drink()) }
    try await phone.next { $0["unsynced"] as? Int == 0 ? () : nil }
    printed += try await phone.end().drinks
    #expect(printed == [1, 2, 3, 4, 5, 6])
    #expect(await bottle.quit() == 0)
  }

  @Test func `a killed bottle keeps its records and is found again`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    bottle.act("move", "pour 40")
    let phone = try BottlePhone(scratch)
    #expect(try await phone.drink() == 1)
    bottle.process.signal(SIGKILL)
    _ = await bottle.process.exit()
    try await phone.reaches("disconnected")
    let again = try BottleProgram(scratch)
    again.act("move", "pour 50")
    #expect(try await phone.drink() == 2)
    #expect(try await phone.end().status == 0)
    #expect(await again.quit() == 0)
  }

  @Test func `reconnects after a return into range`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    bottle.act("move", "still")
    let phone = try BottlePhone(scratch)
    try await phone.reaches("connected")
    bottle.act("gone")
    let outstanding = try await phone.next { event -> [String]? in
      event["status"] as? String == "disconnected" ? event["outstanding"] as? [String] : nil
    }
    #expect(outstanding == ["queued-connect", "timer"])
    bottle.act("back", "move")
    try await phone.reaches("connected")
    #expect(try await phone.end().status == 0)
    #expect(await bottle.quit() == 0)
  }

  @Test func `commands print the bottle's answer`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    bottle.act("move", "still", "pour 250")
    try await bottle.records(1)
    for (arguments, result) in [
      (["refresh"], "synced 1"), (["refresh"], "already-synced"), (["ping"], "done"),
      (["set-time"], "done"), (["delete", "1"], "done"), (["tare"], "done"),
      (["settings", "no-shake"], "done"), (["configure", "412.5", "2500"], "done"),
      (["calibrate", "start"], "done"),
    ] {
      #expect(try await bottle.result(of: arguments, in: scratch) == result, "\(arguments)")
    }
    #expect(await bottle.quit() == 0)
  }

  @Test func `an unreachable bottle ends a command with 6, and an invalid value with 2`()
    async throws
  {
    let scratch = try Scratch()
    let ping = try BottlePhone(scratch, ["ping", "--set", "establish.openTimeout=1s"])
    let name = try await ping.next { $0["result"] as? String }
    #expect(name == "bottle-asleep")
    #expect(try await ping.rest().status == 6)
    for arguments in [["configure", "99", "2500"], ["configure", "400", "999"], ["delete", "x"]] {
      let outcome = try await CommandProcess.run(["bottle"] + arguments + ["--radio", "r"])
      #expect(outcome.status == 2, "\(arguments)")
    }
  }

  @Test func `status shows what a watch waits for, and that none is running`() async throws {
    let scratch = try Scratch()
    let data = "\(scratch.path)/data"
    let phone = try BottlePhone(scratch)
    try await phone.reaches("scanning")
    try await phone.reaches("disconnected")
    var running = ""
    while !running.contains("queued-scan") {
      let outcome = try await CommandProcess.run("bottle", "status", "--data", data, "--json")
      let event: [String: Any] = try .reading(outcome.output.first ?? "")
      running = event["running"] as? String ?? ""
    }
    #expect(running.hasPrefix("disconnected"))
    #expect(try await phone.end().status == 0)
    let after = try await CommandProcess.run("bottle", "status", "--data", data)
    #expect(
      after.output == [
        "bottle: none found yet", "running: no; nothing is outstanding", "drinks: none",
      ])
  }

  @Test func `only one bottle at a time can use a socket`() async throws {
    let scratch = try Scratch()
    let bottle = try BottleProgram(scratch)
    bottle.act("move")
    try await bottle.reaches("advertising")
    let outcome = try await CommandProcess.run(
      "bottle", "virtual", "--socket", "\(scratch.path)/radio")
    #expect(outcome.status == 1)
    #expect(await bottle.quit() == 0)
  }
}
