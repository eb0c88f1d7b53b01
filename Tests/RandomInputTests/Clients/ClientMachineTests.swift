import Testing

/// Tests that pass random inputs to every client machine and check its invariants and properties.
@Suite struct ClientMachineTests {
  @Test func `a link with any policy satisfies its guarantees`() {
    RandomInputs<LinkInputs>(seeds: 0..<120, acts: 90).expectSound(
      inputs: """
        credentials draining established flushed found heard lifecycle lost opened polled pong
        prepared reachability reject requested setIntent trigger validData
        """,
      effects: "arm close disarm open ping poll prepare refreshCredentials status")
  }

  @Test func `a held socket keeps its promises`() {
    RandomInputs<SocketInputs>(seeds: 0..<40, acts: 120).expectSound(
      inputs: """
        credentials link makeStanding restored send socket standing start stop storeFailed stored
        """,
      effects: """
        ask close greet makeStanding open ping refreshCredentials remove resume send standing store
        update
        """)
  }

  @Test func `a message stream keeps its promises`() {
    RandomInputs<StreamInputs>(seeds: 0..<50, acts: 250).expectSound(
      inputs: """
        close commitFailed committed credentials delete deleted discard edit edited fetchFailed
        fetched frame link loadFailed loadOlder loaded older olderFailed open opened postFailed
        posted reader realtime refresh retry send uploadRefused uploaded user
        """,
      effects: """
        close commit fetch load open ping post readOlder refreshCredentials update upload
        """)
  }

  @Test func `a relay phone keeps its promises`() {
    RandomInputs<PhoneRelayInputs>(seeds: 0..<30, acts: 120).expectSound(
      inputs: "closed link message opened prepared resume start stop unsent",
      effects: "close discard fail notify open ping read refuse send unnotify update")
  }

  @Test func `a pull keeps its promises`() {
    RandomInputs<PullInputs>(seeds: 0..<200, acts: 60).expectSound(
      inputs: "begin cancel failed leased posted prepared",
      effects: "discard finish lease post read refuse")
  }

  @Test func `a session client keeps its promises`() {
    RandomInputs<PhoneSessionInputs>(seeds: 0..<40, acts: 250).expectSound(
      inputs: """
        answersShown cancel commitFailed committed credentials discard follow frame link malformed
        opened probed prompt reading restored retry shown start stop stopUnread unsent
        """,
      effects: "close commit connect open probe refreshCredentials send update")
  }

  @Test func `a health sync keeps its promises`() {
    RandomInputs<PhoneSyncInputs>(seeds: 0..<50, acts: 300).expectSound(
      inputs: """
        again ask committed conditions device epoch fetched fired identified notCommitted
        notFetched notIdentified notSplit notWritten refreshed restored secret split stop uploaded
        woken
        """,
      effects: """
        commit delete fetch giveBack identify observe refresh requestSecret split update upload
        """)
  }

  @Test func `a bottle link keeps its promises`() {
    RandomInputs<BottleLinkInputs>(seeds: 0..<60, acts: 200).expectSound(
      inputs: """
        central choose committed discovered heard hold link perform refresh restored shown start
        stop uncommitted undiscovered unwritten written
        """,
      effects: "cancel commit confirm connect discover scan stopScan update write")
  }

  @Test func `the bottle firmware keeps its promises`() {
    RandomInputs<FirmwareInputs>(seeds: 0..<50, acts: 200).expectSound(
      inputs: """
        acknowledged battery command configuration connected disconnected moved poured settings
        shaken stands sync tapped
        """,
      effects: """
        advertise disconnect notifyActivity notifyCalibration notifyChunk notifyState persist
        reject sleep sleepDeeply stopAdvertising
        """)
  }
}
