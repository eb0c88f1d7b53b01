/// A button of the lab: something that happens to the network, the server or the phone.
enum LabDeed: String, Sendable, Hashable, CaseIterable {
  case cut
  case halfOpen = "half-open"
  case slow
  case noWay = "no-way"
  case loginPage = "login-page"
  case restart
  case kill
  case unavailable = "answer-503"
  case expireTokens = "expire-tokens"
  case background
  case sleep
  case killApp = "kill-app"
  case loseWiFi = "lose-wifi"

  /// The part of the world to which a deed belongs.
  enum Group: String, Sendable, CaseIterable {
    case network, server, phone
  }

  /// The title of the button.
  var title: String {
    switch self {
    case .cut: "Cut"
    case .halfOpen: "Half-open"
    case .slow: "Slow"
    case .noWay: "No way"
    case .loginPage: "Login page"
    case .restart: "Restart"
    case .kill: "Kill"
    case .unavailable: "Answer 503"
    case .expireTokens: "Expire tokens"
    case .background: "Background"
    case .sleep: "Sleep"
    case .killApp: "Kill the app"
    case .loseWiFi: "Lose Wi-Fi"
    }
  }

  var group: Group {
    switch self {
    case .cut, .halfOpen, .slow, .noWay, .loginPage: .network
    case .restart, .kill, .unavailable, .expireTokens: .server
    case .background, .sleep, .killApp, .loseWiFi: .phone
    }
  }

  /// Whether the deed lasts until the button is pressed again.
  var lasts: Bool {
    switch self {
    case .halfOpen, .slow, .noWay, .loginPage, .unavailable, .background, .sleep, .loseWiFi: true
    case .cut, .restart, .kill, .expireTokens, .killApp: false
    }
  }

  /// The sentence of the fact that a deed adds to traces, and of the button's tooltip.
  var sentence: String {
    switch self {
    case .cut: "Every connection is reset."
    case .halfOpen: "Nothing arrives and nothing closes: every connection still looks open."
    case .slow: "Each byte takes 0.8 s longer, in both directions."
    case .noWay: "The phone has no network, and nothing passes."
    case .loginPage: "A login page answers in place of the server."
    case .restart: "The server tells its clients that it ends, and starts again."
    case .kill: "The server is killed, and starts again after 3 s."
    case .unavailable: "Every request is answered with status 503."
    case .expireTokens: "The server starts again with another key, so that it refuses every token."
    case .background: "The app is moved to the background."
    case .sleep: "The system stops the app's process: its timers stand still."
    case .killApp: "The system kills the app, which is launched again after 2 s."
    case .loseWiFi:
      "The phone leaves Wi-Fi for a mobile network; connections over Wi-Fi fall silent."
    }
  }

  /// The name of the fault in pictures; `nil` if other facts report the deed.
  var trouble: String? {
    switch self {
    case .cut: "cut"
    case .halfOpen: "half-open"
    case .slow: "slow"
    case .noWay: "no network"
    case .loginPage: "login page"
    case .unavailable: "status 503"
    case .restart, .kill, .expireTokens, .background, .sleep, .killApp, .loseWiFi: nil
    }
  }
}

/// A request of a person at the lab's page.
enum LabAct: Sendable, Hashable {
  /// A button that was pressed. `isOn` is whether a deed that lasts begins.
  case deed(LabDeed, isOn: Bool)
  /// A text that the app with this name sends.
  case say(String, by: String)
}
