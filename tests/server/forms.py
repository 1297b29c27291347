"""What a browser would send: the fields of a page's forms."""

from html.parser import HTMLParser

from fastapi.testclient import TestClient


class Forms(HTMLParser):
    """Forms of a page by their action, and texts by their element."""

    def __init__(self, text):
        super().__init__()
        self.forms, self.tags, self.attributes, self.text = {}, [], [], []
        self._form = self._select = self._chosen = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {k: "" if v is None else v for k, v in attrs}
        self.tags.append(tag)
        self.attributes.append((tag, given))
        if tag == "form":
            self._form = self.forms.setdefault(given.get("action", ""), [])
        elif tag == "input" and self._form is not None and "name" in given:
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                self._form.append((given["name"], given.get("value", "on")))
        elif tag == "select":
            self._select, self._chosen = given.get("name"), None
        elif tag == "option" and self._select and (self._chosen is None or "selected" in given):
            self._chosen = given["value"]

    def handle_endtag(self, tag):
        if tag == "select" and self._form is not None:
            self._form.append((self._select, self._chosen or ""))
            self._select = None
        elif tag == "form":
            self._form = None

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())

    def values(self, tag, name, attribute="value"):
        """An attribute of all elements of a kind and name."""
        return [a.get(attribute) for t, a in self.attributes if t == tag and a.get("name") == name]


def send(client, page, action, *more, to=None, without=(), **changed):
    """Send a form of a page, some fields changed, as by one of its buttons."""
    fields = [(k, changed.pop(k) if k in changed else v) for k, v in Forms(page).forms[action] if k not in without]
    pairs = [*fields, *changed.items(), *more]
    data = {}
    for k, v in pairs:
        data.setdefault(k, []).append(v)
    return client.post(to or action, data=data, follow_redirects=False)


def enter(app, token, base="http://localhost"):
    """Somebody who has logged in."""
    client = TestClient(app, base_url=base, raise_server_exceptions=False, follow_redirects=False)
    answer = client.post("/login", data={"key": token})
    assert answer.status_code == 303, answer.text
    return client


def promise(desk, page, **changed):
    """Ask for a promise of the second option that a page shows."""
    option = Forms(page).values("button", "option")[1]
    return send(desk, page, "/desk/case", ("option", option), to="/desk/confirm", **changed)
