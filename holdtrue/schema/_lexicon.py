"""Words in the names of columns and labels, in six languages, and what they say about a column.

An entry is a word (``age``), the beginning of one (``ethnic*``), words in a row (``months since``), or a stem that
counts wherever it stands (``~bankrupt``), for names that are written without a gap.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence

_CAMEL = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_JOINTS = re.compile(r"(?<=\w)[_.\-]+(?=\w)")
_SEAM = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_GAP = re.compile(r"[^a-z0-9]+")
_UMLAUTS = (str.maketrans("äöü", "aou"), {ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"})


def words_of(name: str) -> list[str]:
    """A name in its words: camelCase, snake_case and gaps taken apart, accents and capitals taken off."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    plain = plain.replace("ß", "ss")
    return [word for word in _GAP.split(_CAMEL.sub(" ", plain).casefold()) if word]


def spoken(name: str) -> str:
    """A name as a sentence has it: ``annual_income`` and ``annualIncome`` are "annual income"."""
    bare = name.strip("_.- ")
    apart = _JOINTS.split(bare)
    if len(apart) == 1:
        apart = _SEAM.split(bare)
        if bare[:1].islower():  # capitals of camelCase are seams; any other are the writer's own
            apart = [word if word.isupper() else word.lower() for word in apart]
    return " ".join(apart) if all(len(word) > 1 or word.isdigit() for word in apart) else name


def has_word(words: Sequence[str], lexicon: Iterable[str]) -> bool:
    """Whether a name, in its words, has an entry of a lexicon."""
    return first_word(words, lexicon) is not None


def first_word(words: Sequence[str], lexicon: Iterable[str]) -> str | None:
    """The first entry of a lexicon that a name has, as the name has it."""
    joined, spaced = "".join(words), f" {' '.join(words)} "
    for entry in lexicon:
        if entry.startswith("~"):
            if entry[1:] in joined:
                return entry[1:]
        elif entry.endswith("*"):
            found = next((w for w in words if w.startswith(entry[:-1])), None)
            if found is not None:
                return found
        elif f" {entry} " in spaced:
            return entry
    return None


@functools.cache
def _list(text: str) -> tuple[str, ...]:
    """Entries; one with an umlaut counts as `words_of` leaves it and as a keyboard without umlauts has it."""
    entries = (part.strip() for part in text.replace("\n", ",").split(","))
    return tuple(dict.fromkeys(entry.translate(how) for entry in entries if entry for how in _UMLAUTS))


NEGATIONS = _list("not, no, non, un, nicht, kein, ne, pas, nao, mai")

GOOD_OUTCOMES = _list("""
    approve*, accept*, grant*, good, paid, repaid, repay, current, solvent, funded, admitted, hired,
    healthy, benign
    success*, pass, passed, eligible, qualified, creditworthy, retained, survived, fulfilled, originated
    genehmigt, bewilligt, angenommen, gut, zugesagt, bezahlt, kreditwürdig
    approuve*, accorde*, bon, bonne, paye, rembourse, octroye*
    aprobad*, aceptad*, bueno, buena, pagado, concedid*, otorgad*
    aprovad*, aceit*, bom, boa, pago, concedid*
    approvat*, accettat*, buono, buona, pagato, concess*""")
"""Outcomes that people want."""

BAD_OUTCOMES = _list("""
    deny, denied, denial, default*, bad, reject*, refus*, decline*, charged off, ~chargedoff, ~chargeoff,
    late
    delinq*, arrears, churn*, fraud*, fail*, bankrupt*, insolvent, insolvency, recid*, reoffend*, malignant,
    risk*, attrition
    dropout, drop out, died, dead, death, loss, lost, unpaid, overdue, foreclos*, evict*, ~dlq, ~delinq,
    sick, disease
    terminated, fired, quit, cancel*, withdrawn, rearrest*, arrest*, violation
    abgelehnt, ablehnung, schlecht, ausfall*, verweigert, gekündigt, kündigung, betrug, zahlungsverzug,
    insolvenz
    refuse*, rejete*, mauvais*, defaut, impaye*, faillite, fraude, retard
    denegad*, rechazad*, malo, mala, impago, moroso, morosidad, incumplimiento, quiebra
    negad*, recusad*, rejeitad*, mau, inadimpl*, fraude, atraso
    negat*, rifiutat*, respint*, cattivo, insolvente, insolvenza, sofferenza, frode""")
"""Outcomes that people do not want: where a target is named so, 1 is not what is wanted."""

SEX = _list("""
    sex, gender, male, female, man, woman, men, women, mr, mrs, ~gender, salutation, ~pregnan*, ~pregnan,
    maternity
    geschlecht, anrede, mann, frau, weiblich, männlich, ~geschlecht, schwanger*
    sexe, genre, civilite, homme, femme, enceinte
    sexo, genero, hombre, mujer, embaraz*
    homem, mulher, gravid*, genere, sesso, uomo, donna, maschio, femmina, incinta""")
ORIGIN = _list("""
    race, races, racial, ethnic*, ~ethnic, black, white, asian, hispan*, latino, latina, latinx, caucasian,
    minority, minrty
    nation*, ~nationality, citizen*, foreign*, immigra*, migrant, native, aboriginal, tribe, caste,
    mother tongue
    colour of skin, skin, ancestry, indigenous
    rasse, herkunft, ~staatsangehörig, ~staatsbürger, ~nationalität, ausländ*, ~migration, hautfarbe
    ethnie, nationalite, etranger*, origine, citoyennete
    raza, etnia, nacionalidad, extranjer*, origen, ciudadania
    raca, nacionalidade, estrangeir*, origem, cidadania
    razza, nazionalita, stranier*, cittadinanza""")
FAITH = _list("""
    relig*, church, faith, muslim, jewish, christian, orientation, lgbt*, politic*, party affiliation,
    union member, veteran
    konfession, kirche, gewerkschaft, orientierung, croyance, eglise, orientacion, iglesia, orientacao,
    igreja, chiesa
    sindacato, sindicato, syndicat""")
HEALTH = _list("""
    disab*, ~disability, handicap*, illness, genetic*, pregnant
    behinder*, ~behinderung, krank*, maladie, invalid*, discapac*, enfermedad, deficien*, doenca, disabil*,
    malattia""")
FAMILY = _list("""
    ~marital, ~married, marriage, spouse, single, widow*, divorce*, separated, ~dependent, ~dependant,
    dependents, dependants
    dep, deps, children, child, kids, family size, household size, ~familysize, ~householdsize, famsize,
    parents, orphan
    personal status, numdep, relationship, civil status
    familienstand, ~familienstand, verheiratet, ledig, geschieden, verwitwet, kinder, kinderzahl,
    unterhaltspflichtig*, ~anzahlkinder, ~kinderanzahl, haushalt, ~haushaltsgrösse, haushaltsmitglied*
    situation familiale, matrimonial*, marie, celibataire, enfants, personnes a charge, conjoint, foyer
    estado civil, ~estadocivil, casad*, solter*, hijos, dependientes, conyuge, viud*, divorciad*, hogar
    solteir*, filhos, dependentes, conjuge, viuv*
    stato civile, ~statocivile, sposat*, celibe, nubile, figli, coniuge, vedov*, a carico""")
AGE = _list("""
    age, ages, aged, agegroup, age group, ageband, dob, birth*, ~birth, ~dateofbirth, born, yob,
    senior citizen, pensioner, minor
    alter, lebensalter, altersgruppe, geburt*, ~geburts, jahrgang
    age, naissance, ne le, date naissance, tranche age
    edad, nacimiento, ~nacimiento, fecha nac, grupo edad
    idade, nascimento, ~nascimento, faixa etaria
    eta, nascita, ~nascita, fascia eta""")
OF_A_THING = _list("""
    account, acct, car, vehicle, auto, house, home, building, property, loan, line, lines, trade, trades,
    credit, file, card, policy
    company, business, firm, oldest, newest, device, customer relationship, membership, konto, kredit,
    fahrzeug, compte, cuenta, conta, conto""")
"""What else has an age, which a person does not share."""
PROTECTED = (
    ("sex", SEX), ("origin", ORIGIN), ("faith or conviction", FAITH), ("health", HEALTH), ("family", FAMILY),
    ("age", AGE),
)  # fmt: skip
"""What nobody may be asked to change, and what is no reason of a refusal."""

PLACE = _list("""
    zip, ~zipcode, zip code, postal, ~postcode, ~postal, postcode, post code, county, city, town, state,
    addr state, region, province
    district, neighbourhood, neighborhood, ~neighbo, borough, tract, censustract, ward, country, latitude,
    longitude, lat, lon, lng
    address, street, metro, msa, rural, urban, village, branch
    plz, ~postleitzahl, ort, wohnort, stadt, land, bundesland, gemeinde, strasse, kreis, filiale
    code postal, ~codepostal, ville, pays, departement, commune, adresse, rue
    codigo postal, ~codigopostal, ciudad, pais, provincia, municipio, direccion, calle, barrio
    cep, cidade, estado, endereco, bairro, municipio, uf
    cap, citta, paese, comune, indirizzo, provincia, regione""")
PAST = _list("""
    ~bankrupt, ~delinq, ~foreclos, ~chargeoff, ~chargedoff, ~repossess, ~derog, ~inquir, ~enquir, ~pubrec,
    public record, public records, ~insolven
    past, past due, ~pastdue, ~dayslate, times late, late payments, ~latepay, prior, priors, previous, prev,
    history, hist, ever, arrest*
    convict*, felon*, crime*, offen*, offence*, offense*, sentence*, ~recid, juv, juvenile, collections,
    collection, judgment, judgement, liens, lien
    last default, number of defaults, defaulted, had default, missed payments, served, accident*, claims,
    campaign, pdays, poutcome, rejected before
    vorstrafe*, ~mahnung, ~pfändung, früher*, bisherig*, vergangen*, ~rückstand, schufa*,
    verzug*, zahlungshistorie
    faillite*, incident*, impaye*, retard*, anterieur*, precedent*, passe, antecedent*, historique
    quiebra*, antecedente*, anterior*, previo*, previa*, pasad*, moros*, impago*, historial
    falencia*, atraso*, anterior*, passad*, historico, inadimpl*
    fallimento*, precedent*, passat*, insolut*, storico, protest*""")
MACRO = _list("""
    unemployment, ~unemploy, unem, inflation, cpi, gdp, gnp, euribor, libor, sofr, macro, economy,
    emp var rate, cons price idx
    cons conf idx, consumer confidence, price index, base rate, prime rate, policy rate, market rate,
    industry rate, vacancy rate
    nr employed, index rate, mortgage rate, vr, exchange rate, recession, wirtschaft*, arbeitslosenquote,
    leitzins, konjunktur*
    chomage, taux directeur, pib, paro, desempleo, tasa de paro, pbi, desemprego, selic, disoccupazione,
    pil, inflacion, inflacao, inflazione""")
UPBRINGING = _list("""
    mother, father, mothers, fathers, medu, fedu, mjob, fjob, parental, parent, guardian, grandparent,
    sibling*, mutter, vater, eltern, mere, pere
    madre, padre, mae, pai, height, ~birthweight, blood, genes, iq""")
PURPOSE = _list("""
    purpose, ~purpose, zweck, ~verwendungszweck, ~kreditzweck, proposito, finalidad, finalidade, finalita,
    objet du pret, destino""")
CODES = _list("code, codes, naics, sic, soc, occ, isco, schlüssel, cod, codigo, codice")
"""Numbers that stand for something, so that more is not more."""

FIXED = (
    ("a place", PLACE), ("the past, which cannot be undone", PAST),
    ("the economy, which nobody's own action changes", MACRO), ("upbringing or body", UPBRINGING),
    ("what the money is for, which nobody is asked to change", PURPOSE),
)  # fmt: skip
"""What nobody can change by themselves, though it may be a reason."""

TIME = _list("""
    years, yrs, year, months, month, mths, mnths, days, weeks, tenure, seniority, experience,
    duration employed, emp length, ~emplength, ~yearsat
    time at, time in, time since, since, ~monthssince, ~mthssince, ~dayssince, age, length of,
    months on book, longevity, ~tenure, employment length, yoe
    jahre, monate, tage, seit, ~beschäftigtseit, ~dienstjahr, dauer, ~betriebszugehörig, berufserfahrung, alter
    annees, annee, mois, jours, depuis, anciennete, anos, meses, dias, desde, antiguedad, anios, experiencia
    tempo, desde, antiguidade, anni, mesi, giorni, anzianita, esperienza""")
TERM = _list("""
    term, terms, loan, duration, maturity, repayment, instalment*, installment*, laufzeit, duree, plazo,
    prazo, durata, remaining, left, requested
    until, per month, per year, monthly, annual, yearly, hours per week, payment, income, amount""")
"""Beside a word for time: no time that passes by itself, but one that is agreed, or money per time."""
BURDEN = _list("""
    debt, debts, ~debtto, ~debtratio, dti, indebted*, liabilit*, owed, owing, obligation*, utilisation,
    utilization, ~utiliz, ~utilis, overdraft, leverage, loan to value, ltv, loan to price, loan to income, lti,
    payment to income, pti, expense ratio
    schulden, verschuldung*, schuldenquote, verbindlichkeiten, ~verschuldung, beleihung*
    dette, dettes, endettement, ~endettement, decouvert
    deuda, deudas, endeudamiento, divida, dividas, endividamento, debito, debiti, indebitamento""")
"""What weighs on a person: nobody is advised to have more of it."""
NO_BURDEN = _list("coverage, cover, dscr, service, paid, repaid, settled, forgiven, collected, receivable*")
MEANS = _list("""
    income, incomes, salary, wage, wages, earnings, savings, assets, net worth, networth, wealth, down payment,
    ~downpayment, ~annualinc, ~monthlyinc, annual inc, ~income
    einkommen, ~einkommen, gehalt, lohn, ~monatsgehalt, ~jahresgehalt, ersparnis*, ~vermögen,
    eigenkapital, anzahlung
    revenu, revenus, salaire, epargne, patrimoine, apport
    ingreso, ingresos, salario, sueldo, ahorro, ahorros, patrimonio, renda, rendimento, poupanca
    reddito, redditi, stipendio, risparmi, risparmio""")
"""What a person lives on: nobody is advised to have less of it."""
NO_MEANS = _list(
    "tax, taxes, ratio, share, percent, rank, decile, to income, steuer, impot, impuesto, imposto, imposta"
)

LEARNING = _list("""
    education, educ, edu, schooling, school, degree, diploma, qualification*, grade completed, studies,
    training, certificate, literacy
    bildung, ausbildung, schulabschluss, abschluss, studium, etudes, formation, diplome, niveau etude
    educacion, estudios, titulo, formacion, educacao, escolaridade, estudos, formacao, istruzione, studi,
    titolo di studio, scolarita""")
SINCE = _list("since, ~monthssince, ~mthssince, ~dayssince, seit, depuis, desde")
EVENT = (*SINCE, *_list("last, letzt*, dernier*, ultim*"))
"""Beside a word for time: of an event that may never have been."""
IDENTIFIER = _list("""
    id, ids, uid, uuid, guid, identifier, rownames, rowname, row names, rowid, unnamed, ssn, iban,
    account number, acct no, account no, ~accountnumber
    customer number, application number, case number, reference number, passport, email, phone, telephone,
    mobile, url, hash, key, serial, record number
    index, seqn, seqno, sequence, lfd, lfdnr, nummer, kennung, kundennummer, aktenzeichen, matricule,
    identifiant, numero de dossier
    identificador, dni, nif, cpf, cnpj, codice fiscale, matricola""")
