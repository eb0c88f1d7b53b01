import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The phone: a process of its own, killed and launched again over the same data.
actor Phone {
  private let words: [String]
  private let scene: Scene
  private var process: LabProcess?
  private var listening: Task<Void, Never>?

  /// A phone that is launched by `words`.
  init(words: [String], scene: Scene) {
    self.words = words
    self.scene = scene
  }

  func launch() async throws(DemoFailure) {
    // A proxy of the environment has no business on the loopback.
    let direct = ["no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"]
    guard let process = try? LabProcess(words, environment: direct) else {
      throw .setup("the phone's process could not be started")
    }
    self.process = process
    await scene.phoneLaunched()
    let scene = scene
    listening = Task.detached {
      let complaint = Task.detached {
        var last = ""
        for await line in process.diagnostics { last = line }
        return last
      }
      for await line in process.lines {
        if let line = PhoneLine(line) { await scene.phoneSaid(line) }
      }
      let (status, words) = (await process.exit(), await complaint.value)
      await scene.phoneEnded(words.isEmpty ? "status \(status)" : "status \(status): \(words)")
    }
  }

  /// Ends it without a chance to say anything.
  func kill() async {
    process?.signal(SIGKILL)
    await listening?.value
    process = nil
  }

  /// Asks it to end; kills it when it does not within two seconds.
  func quit() async {
    guard let process else { return }
    process.signal(SIGTERM)
    if await scene.wait(atMost: .seconds(2), until: { $0.ending != nil }) == nil {
      process.signal(SIGKILL)
    }
    await listening?.value
    self.process = nil
  }
}
