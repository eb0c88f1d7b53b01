import HoldfastTestKit
import LinkCore
import LinkRuntime

/// A scenario in which the phone connects and messages arrive.
struct SteadyTraffic: Chapter {
  let name = "steady"
  let title = "Steady traffic"

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    try stage.giveToken(until: stage.tokenEnd)
    try await stage.startCustomers()
    stage.say(.server, "runs; two customers write about 20 messages a second, whatever happens")
    try await stage.phone.launch()
    try await stage.wait { $0[.messages].ending != nil || $0[.messages].status.isConnected }
    let facts = await stage.scene.facts[.messages]
    guard facts.status.isConnected else {
      throw .setup("the phone did not connect (\(facts.ending ?? "no word from it"))")
    }
    stage.say(.phone, "connected, through a proxy that plays the network")
    try stage.giveToken(until: stage.tokenEnd.advanced(by: .seconds(3600)))
    try await stage.pause(.seconds(1.5))
    stage.say(.phone, "has shown \(await stage.scene.facts.runs.joined().count) messages")
  }
}

/// A scenario with one trouble that the phone recovers from by itself.
struct PhoneTrouble: Chapter {
  typealias Part = @Sendable (isolated Stage) async throws(DemoFailure) -> Void

  let title: String
  let trouble: Trouble
  /// The time that the trouble lasts after the phone has noticed it.
  let time: Duration
  let begin: Part
  let end: Part

  var name: String { trouble.name }
  var troubles: [Trouble] { [trouble] }

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    try await stage.play(trouble, lasting: time, begin: begin) { stage throws(DemoFailure) in
      try await end(stage)
      return await stage.allShown()
    }
    try await stage.pause(.seconds(0.5))
  }

  static let linkCut = PhoneTrouble(
    title: "The link is cut", trouble: .cut, time: .seconds(0.6)
  ) { stage throws(DemoFailure) in
    try await stage.set(.reset)
    stage.say(.network, "resets every connection, old and new")
  } end: { stage throws(DemoFailure) in
    try await stage.set(.pass)
    stage.say(.network, "works again")
  }

  static let halfOpenLink = PhoneTrouble(
    title: "Half-open: nothing arrives, nothing closes", trouble: .halfOpen, time: .seconds(0.6)
  ) { stage throws(DemoFailure) in
    try await stage.set(.blackhole(Blackhole(reach: .both, fate: .held, connects: .hang)))
    stage.say(.network, "falls silent; every connection still looks open")
  } end: { stage throws(DemoFailure) in
    try await stage.set(.pass)
    stage.say(.network, "works again")
  }

  static let serverRestart = PhoneTrouble(
    title: "The server restarts", trouble: .restart, time: .seconds(0.6)
  ) { stage throws(DemoFailure) in
    await stage.server.crash()
    stage.say(.server, "crashes; customers try again by themselves")
  } end: { stage throws(DemoFailure) in
    try await stage.server.start()
    stage.say(.server, "is back with its data")
  }

  static let phoneKill = PhoneTrouble(
    title: "The phone is killed", trouble: .kill, time: .seconds(1)
  ) { stage throws(DemoFailure) in
    await stage.phone.kill()
    stage.say(.phone, "dies by kill -9, in the middle of it all")
  } end: { stage throws(DemoFailure) in
    try await stage.phone.launch()
    stage.say(.phone, "is launched again over what it had kept")
  }
}

/// A scenario in which the traffic ends and the messages are counted.
struct Calm: Chapter {
  let name = "calm"
  let title = "Calm"

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    await stage.customers.stop()
    let last = Scene.Moment.now
    let count = await stage.scene.facts.accepted.count
    stage.say(.server, "has accepted \(count) messages; the customers have stopped")
    if try await stage.heal(.messages, since: last, await stage.allShown()) != nil {
      stage.say(.phone, "has shown them all")
    }
    await stage.phone.quit()
    try stage.checkWanted()
    await stage.judge()
  }
}

extension Trouble {
  static let cut = Trouble("cut", "link cut") {
    .init(noticed: DemoPolicy.work, whole: $0.longestRetry + DemoPolicy.work)
  }

  static let halfOpen = Trouble("halfOpen", "half-open link") {
    // An attempt that hangs when the path returns ends by its own time-out, and the next one
    // succeeds.
    .init(
      noticed: ($0.liveness.silence ?? .zero) + DemoPolicy.work,
      whole: $0.establish.timeout + $0.longestRetry + DemoPolicy.work)
  }

  static let kill = Trouble("kill", "phone killed") {
    .init(noticed: nil, whole: $0.establish.timeout + DemoPolicy.work)
  }
}
