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

/// What the buttons do.
extension LabBench {
  /// The time for which the server and an app stay ended.
  private static let restart = Duration.seconds(1)
  private static let crash = Duration.seconds(3)
  private static let relaunch = Duration.seconds(2)
  /// The time after which the phone's system has found a login page.
  private static let check = Duration.seconds(2)
  private static let delay = Duration.milliseconds(800)

  func perform(_ act: LabAct) async {
    switch act {
    case .say(let text, let name):
      let link = links.first { $0.feature.name == name } ?? links.first
      if let link { await link.feature.say(text, on: link.phone) }
    case .deed(let deed, let isOn):
      if deed.lasts {
        guard on.contains(deed) != isOn else { return }
        if isOn { on.insert(deed) } else { on.remove(deed) }
        await change(deed, isOn)
      } else if !busy.contains(deed.group) {
        await play(deed)
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
      if isOn { await setNetworks(.reset) }
      await setNetworks()
      if isOn { findLoginPage() } else { tellPath() }
    case .unavailable:
      if isOn { await setNetworks(.reset) }
      await setNetworks()
    case .noWay:
      tellPath()
      await setNetworks()
    case .loseWiFi:
      tellPath()
      for proxy in await networks { await proxy.strand() }
    case .background:
      for link in links { await link.phone.signal(isOn ? SIGUSR1 : SIGUSR2) }
    case .sleep:
      for link in links {
        await link.phone.signal(isOn ? SIGSTOP : SIGCONT)
        link.tale.sleep(isOn, at: clock.now)
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
      await setNetworks(.reset)
      await setNetworks()
    case .restart, .kill, .expireTokens: occupy(.server) { await self.restartServer(deed) }
    case .killApp: occupy(.phone) { await self.killApps() }
    case .halfOpen, .slow, .noWay, .loginPage, .unavailable, .background, .sleep, .loseWiFi: return
    }
  }

  /// Runs work during which a part of the world cannot be changed otherwise.
  private func occupy(_ group: LabDeed.Group, _ work: @escaping @Sendable () async -> Void) {
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

  // MARK: The network

  /// The links that notice a deed.
  private func reached(by deed: LabDeed) -> [LabLink] {
    links.filter { !$0.feature.deaf.contains(deed) }
  }

  private var networks: [FaultProxy] {
    get async {
      var all = [parts.proxy]
      for link in links { all += await link.feature.networks }
      return all
    }
  }

  /// Applies a fault, or that of the deeds in force.
  private func setNetworks(_ fault: Fault? = nil) async {
    let fault = fault ?? self.fault
    for proxy in await networks { try? await proxy.set(fault) }
    let isOpen =
      switch fault {
      case .pass, .delay, .answer: true
      case .refuse, .cut, .reset, .blackhole, .rate, .cutAfter: false
      }
    for link in links { await link.feature.open(isOpen) }
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
    Task {
      try? await Task.sleep(for: Self.check)
      if on.contains(.loginPage) { tellPath() }
    }
  }

  private func tellPath() { for link in links { link.path.tell(path) } }

  // MARK: The server

  private func restartServer(_ deed: LabDeed) async {
    let links = reached(by: deed)
    tell(deed == .restart ? .draining : .note(.server), deed.sentence, to: links)
    let downs = tell(.down, "The server is not running.", to: links)
    for link in links { await link.feature.endServer(isWarned: deed != .kill) }
    if deed == .kill { await parts.backend.kill() } else { await parts.backend.stop() }
    if deed == .expireTokens { await parts.backend.forgetKeys() }
    try? await Task.sleep(for: deed == .kill ? Self.crash : Self.restart)
    guard !Task.isCancelled else { return }
    do throws(DemoFailure) {
      try await parts.backend.start()
      for link in links {
        try await link.feature.startServer()
        if deed == .expireTokens { try await link.feature.renew() }
      }
      await setNetworks()
      end(downs)
      tell(.note(.server), "The server runs again.", to: links)
    } catch {
      tell(.note(.server), "The server did not start again: \(error).", to: links)
    }
  }

  // MARK: The phone

  private func killApps() async {
    for link in links {
      link.isKilled = true
      await link.phone.kill()
      link.tale.end(at: clock.now)
    }
    // A new process is awake and in the foreground.
    on.subtract([.sleep, .background])
    look()
    postState()
    try? await Task.sleep(for: Self.relaunch)
    guard !Task.isCancelled else { return }
    for link in links { await launch(link) }
  }
}
