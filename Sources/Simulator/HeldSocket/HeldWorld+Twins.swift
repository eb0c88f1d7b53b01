// What of a link, of its parts and of a held socket is told a second time: see `Twin`.
extension HeldWorld {
  static var walks: [Walk] {
    [
      LinkPartsWalk.steps(2), LinkWalk.steps(180), SocketWalk.steps(300), QueueWalk.steps(45),
      QueueProofWalk.steps(25), QueueWindowsWalk.steps(15), TimeWalk.steps(3), NameWalk.steps(2),
      FailureWalk.steps(1), PolicyTextWalk.steps(3), PolicyWalk.steps(3), CodedWalk.steps(1),
    ]
  }
}
