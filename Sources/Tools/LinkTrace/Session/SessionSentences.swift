import HoldfastCore
public import HoldfastLinkChecks
import HoldfastSession
public import HoldfastSessionChecks
import HoldfastSessionData

extension SessionsFeature {
  public static func sentence(of input: Input) -> String? {
    switch input {
    case .stopUnread: "The user no longer wants the link, and what is unread is kept."
    case .retry: "The user sends a failed prompt again."
    case .discard: "The user gives a prompt up."
    case .follow: "The user follows a conversation."
    case .malformed(let attempt, let detail):
      "Connection \(attempt.number) brings something that is no message: \(detail)."
    case .reading(let attempt, let isPaused):
      isPaused
        ? "The app left too many messages unread: connection \(attempt.number) is not read."
        : "Connection \(attempt.number) is read again."
    case .unsent(let attempt): "Connection \(attempt.number) takes no more messages."
    case .restored, .start, .stop, .prompt, .cancel, .shown, .answersShown, .link, .credentials,
      .probed, .opened, .frame, .committed, .commitFailed:
      nil
    }
  }

  public static func sentence(of effect: Effect) -> String? {
    switch effect {
    case .connect(let attempt, _, _):
      "The app introduces itself on connection \(attempt.number)."
    case .send(_, let message): sentence(of: message)
    case .commit: "The app stores what has changed."
    case .update(let update): sentence(of: update)
    case .open, .close, .refreshCredentials, .probe: nil
    }
  }

  private static func sentence(of message: SessionClientMessage) -> String? {
    switch message {
    case .connect: "The app introduces itself."
    case .ping: "The app pings; an answer is due."
    case .messageAck: "The app confirms a message."
    case .unsubscribe: "The app no longer follows a conversation."
    case .setMaxMessageSize(let kilobytes):
      "The app asks for messages of at most \(kilobytes) kB."
    case .disconnect: "The app says goodbye."
    case .unknown(let type): "The app sends \(Sentence.quoted(type))."
    case .prompt, .subscribe, .subscribeBatch, .killSession: nil
    }
  }

  private static func sentence(of update: SessionUpdate) -> String? {
    switch update {
    case .status(let status): "The app shows the state: \(status)."
    case .quality(let quality, _): "The quality of the connection is \(quality.rawValue)."
    case .pending(let prompts):
      "\(Sentence.count(prompts.count, "prompt")) of an earlier run "
        + (prompts.count == 1 ? "is unanswered." : "are unanswered.")
    case .part(_, _, let index, _): "Part \(index) of an answer is shown."
    case .record(let record): sentence(of: record.reason)
    case .notice(let notice): "The app reports: \(notice)."
    case .prompt, .message, .gap: nil
    }
  }

  private static func sentence(of reason: HoldfastSession.SessionRecord.Reason) -> String {
    switch reason {
    case .failure(let failure): "The app records the end of a connection: \(failure)."
    case .closed(let reason): "The app records the end of a connection: \(reason)."
    }
  }
}
