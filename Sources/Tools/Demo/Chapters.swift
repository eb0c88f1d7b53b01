import HoldfastTestKit
import LinkCore
import LinkRuntime

// The script.
extension Stage {
  /// From the launch to the end of the phone's first token; the first four chapters fit in.
  private static let tokenLife = Duration.seconds(20)

  /// Plays all chapters; true when the ledger is clean.
  func play() async throws(DemoFailure) -> Bool {
    let expiry = try await steady()
    try await cut()
    try await halfOpen()
    try await restart()
    try await expire(at: expiry)
    try await refuse()
    try await withoutStream()
    try await killPhone()
    try await ask()
    return try await calm()
  }

  private func steady() async throws(DemoFailure) -> Timestamp {
    title("A phone follows a shop's messages while everything under it breaks.")
    say(
      .story, "Waits are cut to fit a minute: the phone takes 3 s of silence for a dead link where")
    say(
      .story,
      "it would take 90 s, polls every 1.5 s instead of 30 s, and retries ten times as fast.")
    try chapter("Steady traffic")
    // A token counts whole seconds.
    let wall = BootClock().wall.advanced(by: Self.tokenLife).nanoseconds
    let expiry = Timestamp(nanoseconds: wall - wall % 1_000_000_000)
    try await giveToken(until: expiry)
    try await startCustomers()
    say(.server, "runs; two customers write about 20 messages a second, whatever happens")
    try await phone.launch()
    _ = await scene.wait(atMost: Self.patience) { $0.ending != nil || $0.status.isConnected }
    guard !Task.isCancelled else { throw .interrupted }
    let facts = await scene.facts
    guard facts.status.isConnected else {
      throw .setup("the phone did not connect (\(facts.ending ?? "no word from it"))")
    }
    say(.phone, "connected, through a proxy that plays the network")
    try await giveToken(until: expiry.advanced(by: .seconds(3600)))
    try await pause(.seconds(3))
    say(.phone, "has shown \(await scene.facts.runs.joined().count) messages")
    return expiry
  }

  private func cut() async throws(DemoFailure) {
    try chapter("The link is cut")
    let before = await caughtUp()
    let start = Scene.Moment.now
    try await set(.reset)
    say(.network, "resets every connection, old and new")
    let noticed = try await notice(since: start)
    try await pause(.seconds(0.6))
    try await set(.pass)
    let end = Scene.Moment.now
    say(.network, "works again")
    let whole = try await heal(since: end, \.isConnected)
    await tellWhole(.cut, noticed: noticed, whole: whole, before: before)
    try await pause(.seconds(2))
  }

  private func halfOpen() async throws(DemoFailure) {
    try chapter("Half-open: nothing arrives, nothing closes")
    let before = await caughtUp()
    let start = Scene.Moment.now
    try await set(.blackhole(Blackhole(reach: .both, fate: .held, connects: .hang)))
    say(.network, "falls silent; every connection still looks open")
    let noticed = try await notice(since: start)
    try await pause(.seconds(1))
    try await set(.pass)
    let end = Scene.Moment.now
    say(.network, "works again")
    let whole = try await heal(since: end, \.isConnected)
    await tellWhole(.halfOpen, noticed: noticed, whole: whole, before: before)
    try await pause(.seconds(1.5))
  }

  private func restart() async throws(DemoFailure) {
    try chapter("The server restarts")
    let before = await caughtUp()
    let start = Scene.Moment.now
    await server.crash()
    say(.server, "crashes; customers try again by themselves")
    let noticed = try await notice(since: start)
    try await pause(.seconds(0.8))
    try await server.start()
    let end = Scene.Moment.now
    say(.server, "is back with its data")
    let whole = try await heal(since: end, \.isConnected)
    await tellWhole(.restart, noticed: noticed, whole: whole, before: before)
    try await pause(.seconds(1))
  }

  private func expire(at expiry: Timestamp) async throws(DemoFailure) {
    try chapter("The token expires")
    let left = BootClock().wall.duration(to: expiry)
    guard left > .zero else {
      note(.expiry, noticed: nil, whole: nil)
      return say(.story, "The token ran out in an earlier chapter, which took too long.")
    }
    let before = await caughtUp()
    let start = Scene.Moment.now.advanced(by: left)
    say(.phone, "stays connected; its token has \(left.seconds(1)) s left")
    let noticed = try await notice(since: start, early: .milliseconds(500))
    let whole = try await heal(since: start, \.isConnected)
    if whole != nil { say(.phone, "has got a new token by itself; nobody had to sign in") }
    await tellWhole(.expiry, noticed: noticed, whole: whole, before: before)
    try await pause(.seconds(1.5))
  }

  private func refuse() async throws(DemoFailure) {
    try chapter("Refused, polling, and back up")
    let before = await caughtUp()
    let start = Scene.Moment.now
    try await set(.reset)
    try await set(.refuse)
    say(.network, "refuses every connect")
    // Behind closed doors the server comes back as one that offers no stream.
    await server.crash()
    try await server.start(offersStream: false)
    let noticed = try await notice(since: start)
    let polls = await scene.wait(atMost: Self.patience) { $0.ending != nil || $0.status.isPolling }
    if polls != nil {
      say(.phone, "asks over REST instead, every 1.5 s, for as long as it takes")
    }
    try await pause(.seconds(2))
    try await set(.pass)
    let end = Scene.Moment.now
    say(.network, "lets connects through; the server answers, but offers no stream yet")
    let whole = try await heal(since: end) { _ in true }
    await tellWhole(.refusal, noticed: noticed, whole: whole, before: before)
    try await pause(.seconds(2.5))
  }

  private func withoutStream() async throws(DemoFailure) {
    let before = await caughtUp()
    await server.crash()
    try await server.start()
    let end = Scene.Moment.now
    say(.server, "offers its stream again; the phone's next probe will find it")
    let whole = try await heal(since: end, \.isConnected)
    await tellWhole(.noStream, noticed: nil, whole: whole, before: before)
    try await pause(.seconds(1.5))
  }

  private func killPhone() async throws(DemoFailure) {
    try chapter("The phone is killed")
    let before = await caughtUp()
    await phone.kill()
    say(.phone, "dies by kill -9, in the middle of it all")
    try await pause(.seconds(2))
    let end = Scene.Moment.now
    try await phone.launch()
    say(.phone, "is launched again over what it had kept")
    let whole = try await heal(since: end, \.isConnected)
    await tellWhole(.kill, noticed: nil, whole: whole, before: before)
    try await pause(.seconds(2))
  }

  private func calm() async throws(DemoFailure) -> Bool {
    try chapter("Calm")
    await customers.stop()
    let last = Scene.Moment.now
    say(.server, "has accepted \(await scene.facts.accepted.count) messages; nobody writes now")
    if try await heal(since: last, \.isConnected) != nil { say(.phone, "has shown them all") }
    await phone.quit()
    guard !Task.isCancelled else { throw .interrupted }
    return await settle()
  }

  private func tellWhole(
    _ trouble: Trouble, noticed: Duration?, whole: Duration?, before: Int
  ) async {
    note(trouble, noticed: noticed, whole: whole)
    guard let whole else { return }
    let fetched = await caughtUp() - before
    let how = trouble == .refusal ? "whole by polling" : "connected and whole again"
    let what = fetched == 0 ? "nothing was missed" : "\(fetched) missed messages are there"
    say(.phone, "\(how) after \(whole.told); \(what)")
  }
}
