from web.fuzz import Fuzzer


def test_strange_requests_get_plain_answers(client):
    fuzzer = Fuzzer(client, 7)
    for _ in range(250):
        fuzzer.once()
    fuzzer.clean_up()
    assert client.get("/").status_code == 200
    assert fuzzer.statuses[201] > 0
    assert fuzzer.statuses[422] > 0
