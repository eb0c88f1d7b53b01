import HoldfastCore
import HoldfastLinkTrace
import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The effects of the buttons.
extension LabBench {
  /// The time for which the server and an app stay ended.
  private static let restart = Duration.seconds(1)
  private static let crash = Duration.seconds(3)
  private static let relaunch = Duration.seconds(2)
  /// The time after which the phone's system has found a login page.
  private static let check = Duration.seconds(2)
  private static let delay = Duration.milliseconds(800)

  func perform(_ act: LabAct) async {
    guard !isEnding else { return }
    switch act {
    case .say(let text, let name):
      if let link = links.first(where: { $0.feature.name == name }) {
        await link.feature.say(text, on: link.phone)
      }
    case .deed(let deed, let isOn):
      // The page may not know yet that a part of the world cannot be changed.
      if !busy.contains(deed.group) {
        if !deed.lasts {
          await play(deed)
        } else if on.contains(deed) != isOn {
          if isOn { on.insert(deed) } else { on.remove(deed) }
          await change(deed, isOn)
        }
      }
      postState()
    }
  }

  /// Begins or ends a deed that lasts.
  private func change(_ deed: LabDeed, _ isOn: Bool) async {
    if let name = deed.trouble {
      if isOn {
        lasting[deed] = tell(.trouble(name: name), deed.sentence, to: reached(by: deed))
      } else if let places = lasting.removeValue(forKey: deed) {
        end(places)
      }
    }
    switch deed {
    case .halfOpen, .slow: await setNetworks()
    case .loginPage:
      await setNetworks(resettingFor: isOn ? deed : nil)
      if isOn { findLoginPage() } else { loseLoginPage() }
    case .unavailable: await setNetworks(resettingFor: isOn ? deed : nil)
    case .noWay:
      tellPath()
      await setNetworks()
    case .loseWiFi:
      tellPath()
      for proxy in await networks { await proxy.strand() }
    case .background:
      for link in links where !link.isKilled {
        await link.phone.signal(isOn ? SIGUSR1 : SIGUSR2)
      }
    case .sleep:
      for link in links where !link.isKilled {
        await link.phone.signal(isOn ? SIGSTOP : SIGCONT)
        link.trace.sleep(isOn, at: clock.now)
      }
      look()
    case .cut, .restart, .kill, .expireTokens, .killApp: return
    }
  }

  /// Begins a deed that ends by itself.
  private func play(_ deed: LabDeed) async {
    switch deed {
    case .cut:
      tell(.trouble(name: "cut"), deed.sentence, to: reached(by: deed), until: now)
      await setNetworks(resettingFor: deed)
    case .restart, .kill, .expireTokens: occupy(.server) { await self.restartServer(deed) }
    case .killApp: occupy(.phone) { await self.killApps() }
    case .halfOpen, .slow, .noWay, .loginPage, .unavailable, .background, .sleep, .loseWiFi: return
    }
  }

  /// Runs work during which a part of the world cannot be changed otherwise.
  private func occupy(_ group: LabDeed.Group, _ work: @escaping @Sendable () async -> Void) {
    guard !isEnding else { return }
    busy.insert(group)
    deeds[group] = Task {
      await work()
      self.free(group)
    }
  }

  private func free(_ group: LabDeed.Group) {
    busy.remove(group)
    postState()
  }

  /// Waits until a part of the world can be changed.
  func untilFree(_ group: LabDeed.Group) async {
    while let task = deeds[group], busy.contains(group) { await task.value }
  }

  // MARK: The network

  /// The links that notice a deed.
  private func reached(by deed: LabDeed) -> [LabLink] {
    links.filter { !$0.feature.unaffectedBy.contains(deed) }
  }

  private var networks: [FaultProxy] {
    get async {
      var all = [parts.proxy]
      for link in links { all += await link.feature.networks }
      return all
    }
  }

  /// Changes the networks after the changes that were begun before.
  private func inNetworkTurn(_ work: @escaping @Sendable () async -> Void) async {
    let before = networkTurn
    let turn = Task {
      await before?.value
      await work()
    }
    networkTurn = turn
    await turn.value
  }

  /// Applies the fault of the deeds in force.
  ///
  /// - Parameter deed: A deed for which every connection is reset before.
  private func setNetworks(resettingFor deed: LabDeed? = nil) async {
    await inNetworkTurn {
      if let deed { await self.reset(for: deed) }
      await self.applyFault()
    }
  }

  private func reset(for deed: LabDeed) async {
    await apply(.reset)
    for link in reached(by: deed) { await link.feature.open(false) }
  }

  private func applyFault() async {
    await apply(fault)
    for link in links {
      let closing = on.intersection([.noWay, .halfOpen]).subtracting(link.feature.unaffectedBy)
      await link.feature.open(closing.isEmpty)
    }
  }

  private func apply(_ fault: Fault) async {
    for proxy in await networks {
      do throws(FaultProxyError) {
        try await proxy.set(fault)
      } catch {
        let say = "The network was not changed: \(error.call) failed with errno \(error.code)."
        tell(.note(.network), say, to: links)
      }
    }
  }

  /// The fault of the deeds in force. The worst one hides the others.
  private var fault: Fault {
    if on.contains(.noWay) || on.contains(.halfOpen) {
      return .blackhole(Blackhole(reach: .both, fate: .held, connects: .hang))
    }
    if on.contains(.loginPage) { return .answer(Self.loginPage) }
    if on.contains(.unavailable) { return .answer(Self.unavailable) }
    return on.contains(.slow) ? .delay(Self.delay) : .pass
  }

  private static let loginPage = Array(
    """
    HTTP/1.1 302 Found\r
    Location: http://login.invalid/\r
    Content-Length: 0\r
    Connection: close\r
    \r

    """.utf8)

  private static let unavailable = Array(
    """
    HTTP/1.1 503 Service Unavailable\r
    Retry-After: 3\r
    Content-Length: 0\r
    Connection: close\r
    \r

    """.utf8)

  /// Makes the phone's system find the login page after a while.
  private func findLoginPage() {
    loginCheck = Task {
      guard (try? await Task.sleep(for: Self.check)) != nil else { return }
      tellPath()
    }
  }

  private func loseLoginPage() {
    loginCheck?.cancel()
    loginCheck = nil
    tellPath()
  }

  private func tellPath() { for link in links { link.path.tell(path) } }

  // MARK: The server

  private func restartServer(_ deed: LabDeed) async {
    let (links, renews) = (reached(by: deed), deed == .expireTokens)
    tell(deed == .restart ? .draining : .note(.server), deed.sentence, to: links)
    let downs = tell(.down, "The server is not running.", to: links)
    // The feed's server resets its network, which a change of the fault must not undo before.
    await inNetworkTurn { await self.endServers(deed) }
    if deed == .kill { await parts.backend.kill() } else { await parts.backend.stop() }
    if renews { await parts.backend.forgetKeys() }
    try? await Task.sleep(for: deed == .kill ? Self.crash : Self.restart)
    guard !Task.isCancelled else { return }
    let failure = await startBackend()
    for link in links {
      let failure = await startServer(of: link.feature, afterFailure: failure, renews: renews)
      if let failure {
        let say = Sentence.closed("The server did not start again: \(failure)")
        tell(.note(.server), say, to: [link])
      } else {
        end(downs.filter { $0.link === link })
        tell(.note(.server), "The server runs again.", to: [link])
      }
    }
    await setNetworks()
  }

  private func endServers(_ deed: LabDeed) async {
    for link in reached(by: deed) { await link.feature.endServer(isWarned: deed != .kill) }
  }

  private func startBackend() async -> DemoFailure? {
    do throws(DemoFailure) {
      try await parts.backend.start()
      return nil
    } catch {
      return error
    }
  }

  /// Starts the server of a feature. Returns the reason why it does not run.
  private func startServer(
    of feature: any LabFeature, afterFailure failure: DemoFailure?, renews: Bool
  ) async -> DemoFailure? {
    if let failure, !feature.hasOwnServer { return failure }
    do throws(DemoFailure) {
      try await feature.startServer()
      if renews { try await feature.renew() }
      return nil
    } catch {
      return error
    }
  }

  // MARK: The phone

  private func killApps() async {
    for link in links {
      link.isKilled = true
      await link.phone.kill()
      link.trace.end(at: clock.now)
    }
    // A new process is awake and in the foreground.
    on.subtract([.sleep, .background])
    look()
    postState()
    await launchAfterPause()
  }

  /// Launches the apps that ended by themselves. A new process is awake and in the foreground, so
  /// all others are too.
  func relaunch() async {
    occupy(.phone) { await self.launchAfterPause() }
    for deed in [LabDeed.sleep, .background] where on.remove(deed) != nil {
      await change(deed, false)
    }
    postState()
  }

  private func launchAfterPause() async {
    try? await Task.sleep(for: Self.relaunch)
    guard !Task.isCancelled else { return }
    for link in links { await launch(link) }
  }
}
