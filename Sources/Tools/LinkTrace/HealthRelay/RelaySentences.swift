import HoldfastCore
import HoldfastHealthRelay
public import HoldfastLinkChecks
public import HoldfastRelayChecks

extension RelayFeature {
  public static func sentence(of effect: Effect) -> String? {
    switch effect {
    case .notify: "The app shows a notification of the relay's state."
    case .unnotify: "The app removes the notification."
    case .open, .close, .ping, .read, .send, .discard, .fail, .refuse, .update: nil
    }
  }
}
