// What of a link is told a second time: see `Twin`.
extension HeldWorld {
  static var walks: [Walk] {
    [
      { chance in
        var parts = LinkPartsWalk(chance)
        var walk = LinkWalk(chance)
        return parts.walk(2) ?? walk.walk(2, 90),
        var walk = SocketWalk(chance)
        return walk.walk(300)
      },
        var walk = QueueWalk(chance)
        return walk.walk(45)
      },
      { chance in
        var walk = QueueProofWalk(chance)
        return walk.walk(25)
      },
      { chance in
        var walk = QueueWindowsWalk(chance)
        return walk.walk(15)
      },
      { chance in
        var walk = TimeWalk(chance)
        return walk.walk(3)
      },
      { chance in
        var walk = NameWalk(chance)
        return walk.walk(2)
      },
      { chance in
        var walk = FailureWalk(chance)
        return walk.walk(1)
      },
      { chance in
        var walk = PolicyTextWalk(chance)
        return walk.walk(3)
      },
      { chance in
        var walk = PolicyWalk(chance)
        return walk.walk(7)
      },
      { chance in
        var walk = CodedWalk(chance)
        return walk.walk(1)
      },
    ]
  }
}
